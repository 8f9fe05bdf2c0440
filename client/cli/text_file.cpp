#include "text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "session.h"

namespace scylla::cli {

std::string read_all(const std::string &file) {
    struct closer {
        void operator()(std::FILE *stream) const noexcept {
            if (stream != stdin)
                static_cast<void>(std::fclose(stream));
        }
    };
    const std::unique_ptr<std::FILE, closer> stream{file == "-" ? stdin : std::fopen(file.c_str(), "rb")};
    std::string text;
    std::array<char, 16384> part{};
    for (std::size_t got = 1; stream != nullptr && got > 0; text.append(part.data(), got))
        got = std::fread(part.data(), 1, part.size(), stream.get());
    if (stream == nullptr || std::ferror(stream.get()) != 0)
        throw failure{file == "-" ? "could not read standard input"
                                  : "could not read \"" + file + "\": " + std::generic_category().message(errno)};
    return text;
}

} // namespace scylla::cli
