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

// A name or a deduplication key, for which rows compete.
struct Prize {
    bool taken;
    text *holder;    // of a key: the name of the task that has it, if the role may see it
    std::size_t met; // the last round in which an undecided row competed for it
};

// The rows of one call, which compete for names and keys. Rows with the same name or key compete for the same prize.
struct Contest {
    std::span<const SpecRow> rows;
    std::span<Admission> admissions;
    std::span<const std::size_t> name_of; // by row: where in `names`
    std::span<const std::size_t> key_of;  // by row: where in `keys`; k_none: it has no key
    std::span<Prize> names;
    std::span<Prize> keys;
    std::span<std::size_t> candidates; // of this round; the first `candidate_count` count
    std::size_t candidate_count;
    std::size_t undecided;
    std::size_t round;
    std::span<std::size_t> chosen; // the candidates that a statement gets,
    std::span<SpecRow> part;       // their rows,
    std::span<bool> done;          // and what it did

    Prize &name(std::size_t i) const { return names[name_of[i]]; }
    Prize *key(std::size_t i) const { return key_of[i] != k_none ? &keys[key_of[i]] : nullptr; }
    bool is_undecided(std::size_t i) const { return admissions[i].admitted == Admitted::undecided; }
    std::span<const std::size_t> these_candidates() const { return candidates.first(candidate_count); }
};

Contest make_contest(std::span<const SpecRow> rows, std::span<Admission> admissions) {
    Contest contest{.rows = rows,
                    .admissions = admissions,
                    .name_of = make_groups(
                        rows.size(), [](std::size_t) { return true; },
                        [&](std::size_t a, std::size_t b) { return view(rows[a].rn).compare(view(rows[b].rn)); }),
                    .key_of = make_groups(
                        rows.size(), [&](std::size_t i) { return rows[i].dedup_key != nullptr; },
                        [&](std::size_t a, std::size_t b) {
                            return rows[a].queue != rows[b].queue
                                       ? (rows[a].queue < rows[b].queue ? -1 : 1)
                                       : view(rows[a].dedup_key).compare(view(rows[b].dedup_key));
                        }),
                    .names = allocate<Prize>(rows.size()),
                    .keys = allocate<Prize>(rows.size()),
                    .candidates = allocate<std::size_t>(rows.size()),
                    .candidate_count = 0,
                    .undecided = rows.size(),
                    .round = 0,
                    .chosen = allocate<std::size_t>(rows.size()),
                    .part = allocate<SpecRow>(rows.size()),
                    .done = allocate<bool>(rows.size())};
    for (std::size_t i = 0; i < rows.size(); i++) {
        admissions[i] = {Admitted::undecided, nullptr};
        contest.names[i] = contest.keys[i] = {false, nullptr, 0};
    }
    return contest;
}

void decide(Contest &contest, std::size_t i, Admitted admitted) {
    contest.admissions[i].admitted = admitted;
    contest.undecided--;
    if (admitted == Admitted::key_taken)
        contest.admissions[i].holder = contest.key(i)->holder;
    else
        contest.name(i).taken = true;
}

// The key of row i is taken by the task of that name.
void take_key(Store &store, const Contest &contest, std::size_t i, text *holder) {
    Prize &key = *contest.key(i);
    key.taken = true;
    key.holder = rights::may(store, contest.rows[i].queue, model::Privilege::view) ? holder : nullptr;
}

// Decides rows whose name or key is known to be taken. Of the others, the first of each name and key are the candidates
// of the round.
void choose_candidates(Store &store, Contest &contest) {
    contest.round++;
    contest.candidate_count = 0;
    for (std::size_t i = 0; i < contest.rows.size(); i++) {
        if (!contest.is_undecided(i))
            continue;
        Prize &name = contest.name(i);
        Prize *key = contest.key(i);
        const bool is_first = name.met != contest.round;
        if (name.taken)
            decide(contest, i, Admitted::name_taken);
        else if (is_first && key != nullptr && key->taken)
            decide(contest, i,
                   find_spec(store, contest.rows[i].rn, store::With::no_spec) ? Admitted::name_taken
                                                                              : Admitted::key_taken);
        else {
            if (is_first && (key == nullptr || key->met != contest.round))
                contest.candidates[contest.candidate_count++] = i;
            name.met = contest.round;
            if (key != nullptr)
                key->met = contest.round;
        }
    }
    for (const std::size_t i : contest.these_candidates())
        if (contest.key(i) != nullptr && find_spec(store, contest.rows[i].rn, store::With::no_spec))
            decide(contest, i, Admitted::name_taken);
}

// Inserts the chosen candidates by one statement, and stores what became of each.
template <typename Wanted, typename Statement, typename Tell>
void insert_candidates(Store &store, const Contest &contest, Wanted wanted, Statement statement, Tell tell) {
    std::size_t size = 0;
    for (const std::size_t i : contest.these_candidates())
        if (contest.is_undecided(i) && wanted(i)) {
            contest.part[size] = contest.rows[i];
            contest.chosen[size++] = i;
        }
    if (size == 0)
        return;
    statement(std::span<const SpecRow>(contest.part.first(size)), contest.done.first(size));
    refresh(store);
    for (std::size_t n = 0; n < size; n++)
        tell(contest.chosen[n], contest.done[n]);
}

// A row that does not get its key counts as key_taken for now, though the holder may have ended meanwhile.
void insert_keys(Store &store, Contest &contest) {
    insert_candidates(
        store, contest, [&](std::size_t i) { return contest.key(i) != nullptr; },
        [&](std::span<const SpecRow> rows, std::span<bool> inserted) {
            remove_free_dedup_keys(store, rows);
            store::insert_dedup_keys(rows, inserted);
        },
        [&](std::size_t i, bool inserted) {
            if (inserted)
                return;
            contest.admissions[i].admitted = Admitted::key_taken;
            if (const auto holder = find_dedup_key(store, contest.rows[i].queue, contest.rows[i].dedup_key))
                if (const auto spec = find_spec(store, holder->id, store::With::no_spec))
                    take_key(store, contest, i, spec->rn);
        });
}

// A row that does not get its name releases its key.
void insert_names(Store &store, Contest &contest) {
    insert_candidates(
        store, contest, [](std::size_t) { return true; }, store::insert_specs,
        [&](std::size_t i, bool inserted) {
            if (!inserted && contest.key(i) != nullptr)
                (void)remove_dedup_key(store, contest.rows[i], true);
            if (inserted && contest.key(i) != nullptr)
                take_key(store, contest, i, contest.rows[i].rn);
            decide(contest, i, inserted ? Admitted::inserted : Admitted::name_taken);
        });
}

// A row that has lost its key to a task that has ended meanwhile tries again in the next round.
void settle_lost_keys(Contest &contest) {
    for (const std::size_t i : contest.these_candidates())
        if (contest.admissions[i].admitted == Admitted::key_taken) {
            contest.admissions[i].admitted = Admitted::undecided;
            if (contest.key(i)->taken)
                decide(contest, i, Admitted::key_taken);
        }
}

} // namespace

// Many rows are inserted at once, sorted, so that two calls cannot deadlock. A row with the name or key of an earlier
// row waits until that one is decided: it comes in a later round, which mostly finds the name or key taken.
void insert_rows(Store &store, std::span<const SpecRow> rows, std::span<Admission> admissions) {
    Contest contest = make_contest(rows, admissions);
    while (contest.undecided > 0) {
        CHECK_FOR_INTERRUPTS();
        choose_candidates(store, contest);
        insert_keys(store, contest);
        insert_names(store, contest);
        settle_lost_keys(contest);
    }
}

} // namespace scylla
