// A temporary folder.
#ifndef SCYLLA_TEST_FOLDER_H
#define SCYLLA_TEST_FOLDER_H

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace scylla_test {

class Folder {
public:
    Folder() {
        std::string pattern = ::testing::TempDir() + "scylla.XXXXXX";
        if (mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error{"no folder"};
        m_path = pattern;
    }
    ~Folder() {
        if (std::system(("rm -rf '" + m_path + "'").c_str()) != 0)
            ADD_FAILURE() << "could not remove " << m_path;
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    [[nodiscard]] std::string file(const std::string &name) const { return m_path + '/' + name; }

private:
    std::string m_path;
};

} // namespace scylla_test

#endif
