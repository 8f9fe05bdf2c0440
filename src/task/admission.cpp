#include "task/admission.h"

#include "pg/memory.h"
#include "pg/text.h"
#include "store/upsert.h"
#include "task/rights.h"

namespace scylla {

using store::SpecRow;
using store::Store;

namespace {

constexpr std::size_t k_none = SIZE_MAX;

// Puts the rows that have the same value into groups. A group has the number of its first row; rows without a value
// have k_none.
template <typename Has, typename Compare>
std::span<std::size_t> make_groups(std::size_t count, Has has, Compare compare) {
    const auto group = allocate<std::size_t>(count);
    const auto order = allocate<std::size_t>(count);
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; i++) {
        group[i] = k_none;
        if (has(i))
            order[size++] = i;
    }
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size), [&](std::size_t a, std::size_t b) {
        CHECK_FOR_INTERRUPTS();
        const int compared = compare(a, b);
        return compared != 0 ? compared < 0 : a < b;
    });
    for (std::size_t n = 0; n < size; n++)
        group[order[n]] = n > 0 && compare(order[n - 1], order[n]) == 0 ? group[order[n - 1]] : order[n];
    return group;
}

} // namespace

// Many go in at once, sorted, so that two calls cannot wait for each other in a circle. Rows that want the same as an
// earlier one have to wait until it is clear what becomes of that: they come in a later round, which mostly finds the
// name or key taken. NOLINTNEXTLINE(readability-function-size): one algorithm, whose steps share all of its arrays
void insert_rows(Store &store, std::span<const SpecRow> rows, std::span<Admission> admissions) {
    const auto name = make_groups(
        rows.size(), [](std::size_t) { return true; },
        [&](std::size_t a, std::size_t b) { return view(rows[a].rn).compare(view(rows[b].rn)); });
    const auto key = make_groups(
        rows.size(), [&](std::size_t i) { return rows[i].dedup_key != nullptr; },
        [&](std::size_t a, std::size_t b) {
            return rows[a].queue != rows[b].queue ? (rows[a].queue < rows[b].queue ? -1 : 1)
                                                  : view(rows[a].dedup_key).compare(view(rows[b].dedup_key));
        });
    // By group: whether it is known to be taken, by whom, and in which round the first that is undecided was met.
    struct Group {
        bool taken;
        text *holder;
        std::size_t met;
    };
    const auto names = allocate<Group>(rows.size());
    const auto keys = allocate<Group>(rows.size());
    const auto part = allocate<SpecRow>(rows.size());
    const auto place = allocate<std::size_t>(rows.size());
    const auto done = allocate<bool>(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++) {
        admissions[i] = {Admitted::undecided, nullptr};
        names[i] = keys[i] = {false, nullptr, 0};
    }
    std::size_t undecided = rows.size();
    std::size_t count = 0;
    const auto candidate = allocate<std::size_t>(rows.size());
    const auto decide = [&](std::size_t i, Admitted admitted) {
        admissions[i].admitted = admitted;
        undecided--;
        if (admitted == Admitted::key_taken)
            admissions[i].holder = keys[key[i]].holder;
        else
            names[name[i]].taken = true;
    };
    const auto take_key = [&](std::size_t i, text *holder) {
        keys[key[i]].taken = true;
        keys[key[i]].holder = rights::may(store, rows[i].queue, model::Privilege::view) ? holder : nullptr;
    };
    // Lets a statement insert those of the round that are wanted, and sees what it did.
    const auto insert_part = [&](auto wanted, auto statement, auto see) {
        std::size_t size = 0;
        for (const std::size_t i : candidate.first(count))
            if (admissions[i].admitted == Admitted::undecided && wanted(i)) {
                part[size] = rows[i];
                place[size++] = i;
            }
        if (size == 0)
            return;
        statement(std::span<const SpecRow>(part.first(size)), done.first(size));
        refresh(store);
        for (std::size_t n = 0; n < size; n++)
            see(place[n], done[n]);
    };
    std::size_t round = 0;
    while (undecided > 0) {
        CHECK_FOR_INTERRUPTS();
        round++;
        count = 0;
        for (std::size_t i = 0; i < rows.size(); i++) {
            if (admissions[i].admitted != Admitted::undecided)
                continue;
            Group &of_name = names[name[i]];
            Group *of_key = key[i] != k_none ? &keys[key[i]] : nullptr;
            const bool name_is_free = of_name.met != round;
            if (of_name.taken)
                decide(i, Admitted::name_taken);
            else if (name_is_free && of_key != nullptr && of_key->taken)
                decide(i,
                       find_spec(store, rows[i].rn, store::With::no_spec) ? Admitted::name_taken : Admitted::key_taken);
            else {
                if (name_is_free && (of_key == nullptr || of_key->met != round))
                    candidate[count++] = i;
                of_name.met = round;
                if (of_key != nullptr)
                    of_key->met = round;
            }
        }
        const auto has_key = [&](std::size_t i) { return key[i] != k_none; };
        for (const std::size_t i : candidate.first(count))
            if (has_key(i) && find_spec(store, rows[i].rn, store::With::no_spec))
                decide(i, Admitted::name_taken);
        const auto insert_keys = [&](std::span<const SpecRow> wanted, std::span<bool> inserted) {
            remove_free_dedup_keys(store, wanted);
            store::insert_dedup_keys(wanted, inserted);
        };
        insert_part(has_key, insert_keys, [&](std::size_t i, bool ok) {
            if (ok)
                return;
            admissions[i].admitted = Admitted::key_taken; // for now
            if (const auto holder = find_dedup_key(store, rows[i].queue, rows[i].dedup_key))
                if (const auto spec = find_spec(store, holder->id, store::With::no_spec))
                    take_key(i, spec->rn);
        });
        insert_part([](std::size_t) { return true; }, store::insert_specs,
                    [&](std::size_t i, bool ok) {
                        if (!ok && has_key(i))
                            (void)remove_dedup_key(store, rows[i], true);
                        if (ok && has_key(i))
                            take_key(i, rows[i].rn);
                        decide(i, ok ? Admitted::inserted : Admitted::name_taken);
                    });
        // Who has lost his key to somebody that has ended meanwhile tries again.
        for (const std::size_t i : candidate.first(count))
            if (admissions[i].admitted == Admitted::key_taken) {
                admissions[i].admitted = Admitted::undecided;
                if (keys[key[i]].taken)
                    decide(i, Admitted::key_taken);
            }
    }
}

} // namespace scylla
