// An application of its own, against the installed library.
#include <scylla/scylla.h>

#include <iostream>

int main() {
    scylla::pool pool{""};
    std::cout << to_string(scylla::client{pool}.submit("install", "{}").status) << '\n';
}
