"""Tests the random streams and the mutations of the fuzz harnesses."""

from fuzz.random import Random, mutate, splice

from tests.asserting import assert_equal, assert_false, assert_true


def test_same_seed_and_run_give_the_same_values() raises:
    var first = Random(7, 3)
    var second = Random(7, 3)
    for _ in range(100):
        assert_equal(first.next(), second.next())


def test_neighbouring_runs_and_seeds_differ() raises:
    var seen = List[UInt64]()
    for seed in range(8):
        for run in range(8):
            var random = Random(UInt64(seed), run)
            var value = random.next()
            assert_false(value in seen, String(seed, " ", run))
            seen.append(value)


def test_stream_is_splitmix64() raises:
    # The published first values for the state 1234567.
    var random = Random(0)
    random.state = 1234567
    assert_equal(random.next(), 6457827717110365317)
    assert_equal(random.next(), 3203168211198807973)
    assert_equal(random.next(), 9817491932198370423)


def test_below_reaches_every_value_and_no_other() raises:
    var random = Random(1)
    for bound in [1, 2, 7]:
        var seen = List[Int](length=bound, fill=0)
        for _ in range(200):
            seen[random.below(bound)] += 1
        for count in seen:
            assert_true(count > 0)


def test_between_includes_both_ends() raises:
    var random = Random(1)
    var low = 0
    var high = 0
    for _ in range(200):
        var value = random.between(-1, 1)
        assert_true(-1 <= value and value <= 1)
        low += Int(value == -1)
        high += Int(value == 1)
    assert_true(low > 0)
    assert_true(high > 0)


def test_chance_zero_is_never_and_hundred_is_always() raises:
    var random = Random(1)
    var half = 0
    for _ in range(1000):
        assert_false(random.chance(0))
        assert_true(random.chance(100))
        half += Int(random.chance(50))
    assert_true(400 < half and half < 600)


def test_octets_of_draws_members_only() raises:
    var random = Random(1)
    var drawn = random.octets_of("ab", 64)
    assert_equal(len(drawn), 64)
    for octet in drawn:
        assert_true(octet == 97 or octet == 98)
    assert_equal(len(random.octets(0)), 0)


def test_pick_reaches_every_item() raises:
    var random = Random(1)
    var items: List[Int] = [10, 20, 30]
    var sum = 0
    var seen = List[Int](length=4, fill=0)
    for _ in range(100):
        var item = random.pick(items)
        seen[item // 10] += 1
        sum += item
    assert_equal(seen[0], 0)
    assert_true(seen[1] > 0 and seen[2] > 0 and seen[3] > 0)


def test_mutation_keeps_changes_lengthens_and_shortens() raises:
    var octets: List[UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    var shorter = 0
    var longer = 0
    var changed = 0
    for run in range(500):
        var random = Random(1, run)
        var damaged = mutate(octets, random)
        shorter += Int(len(damaged) < 8)
        longer += Int(len(damaged) > 8)
        changed += Int(len(damaged) == 8 and damaged != octets)
    assert_true(shorter > 50, String(shorter))
    assert_true(longer > 50, String(longer))
    assert_true(changed > 50, String(changed))


def test_mutation_of_nothing_gives_something() raises:
    var random = Random(1)
    assert_true(len(mutate(List[UInt8](), random)) > 0)


def test_mutation_inserts_cr_lf_and_nul() raises:
    var octets: List[UInt8] = [65, 65, 65, 65]
    var seen = List[Bool](length=256, fill=False)
    for run in range(3000):
        var random = Random(1, run)
        for octet in mutate(octets, random):
            seen[Int(octet)] = True
    for octet in [0, 10, 13, 32, 58, 127, 128, 255]:
        assert_true(seen[octet], String(octet))


def test_splice_joins_a_front_to_a_rear() raises:
    var first: List[UInt8] = [1, 1, 1]
    var second: List[UInt8] = [2, 2, 2]
    var mixed = 0
    for run in range(200):
        var random = Random(1, run)
        var joined = splice(first, second, random)
        assert_true(len(joined) <= 6)
        for i in range(1, len(joined)):
            assert_true(joined[i] >= joined[i - 1])
        mixed += Int(len(joined) > 1 and joined[0] != joined[len(joined) - 1])
    assert_true(mixed > 0)


comptime TESTS = __functions_in_module()
