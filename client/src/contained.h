// Runs code of the application whose exceptions must not go further.
#ifndef SCYLLA_SRC_CONTAINED_H
#define SCYLLA_SRC_CONTAINED_H

#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>

#include <cxxabi.h>

namespace scylla::detail {

// The name of the exception that is being handled.
inline std::string type_of_exception() {
    const std::type_info *type = abi::__cxa_current_exception_type();
    if (type == nullptr)
        return "of a foreign type";
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name{abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                           &std::free};
    return name ? name.get() : type->name();
}

// False: it threw. pthread_exit() unwinds by what looks like an exception, and may not be stopped.
template <class F> bool contained(F function) {
    try {
        function();
        return true;
#ifdef __GLIBCXX__
    } catch (abi::__forced_unwind &) {
        throw;
#endif
    } catch (...) {
        return false;
    }
}

} // namespace scylla::detail

#endif
