"""Terms: bounds, records by themselves, words and periods, formulas, and fits with them."""

import numpy as np
import pytest

import geodp
from geodp.errors import DataError
from geodp.models.terms import Terms, basis_of, column_numbers, natural_bends
from geodp_release.promise.public_inputs import TWO_GROUPS, of_all
from geodp_release.run.covariate_moments import moment_matrix
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.stages.covariates import Covariates

REGION = {"words": ["north", "south", "west"]}
BASES = [{"spline": 4}, {"polynomial": 3}, {"periodic": 2.0}, REGION, "line"]
RANGES = ((0.0, 8.0), (1.0, 3.0), (0.0, 2.0), (0.0, 2.0), (-1.0, 1.0))
PUBLIC = {"centre": np.zeros(2), "footpoint_radius": 5.0, "shooting_vector_length": 5.0}


def assumed(bases=BASES, ranges=RANGES, **more):
    given = {"manifold": geodp.Euclidean(2), "subjects": 200, "basis": bases, **PUBLIC}
    return geodp.Assumptions(covariate_range=ranges, **given | more)


@pytest.mark.parametrize("knots", range(3, 13))
def test_splines_are_the_line_and_uncorrelated_bends(knots):
    places = (np.arange(4000) + 0.5) / 4000 - 0.5
    found = Terms([{"spline": knots}], [1.0]).expand(places[:, None])
    np.testing.assert_array_equal(found[:, 0], places)
    moments = np.column_stack([np.ones(4000), found])
    moments = moments.T @ moments / 4000
    np.testing.assert_allclose(moments, np.diag(np.diagonal(moments)), atol=1e-6)
    assert np.all(np.max(np.abs(found), axis=0) > 0.498)
    # No more than a straight line beyond the ends.
    np.testing.assert_allclose(natural_bends(knots)([-0.5, 0.5], 2), 0.0, atol=1e-9)


def test_covariates_are_of_their_record_alone_and_within_bounds():
    rng, assumptions = np.random.default_rng(1), assumed(products=[(0, 3), (1, 4)])
    x = np.stack([rng.uniform(low - 1.0, high + 1.0, 300) for low, high in RANGES], axis=-1)
    x[:, 3] = rng.integers(0, 3, 300)
    found = assumptions.scaled(x)
    assert found.shape == (300, 11 + 6 + 3)
    assert np.max(np.abs(found)) <= 0.5
    for index in range(20):
        np.testing.assert_array_equal(assumptions.scaled(x[index : index + 1])[0], found[index])
    np.testing.assert_allclose(found[:, 11], 2.0 * found[:, 0] * found[:, 8])
    assert assumptions.covariate_names[8:12] == [
        *("covariate 4: south", "covariate 4: west", "covariate 5"),
        "covariate 1 x covariate 4: south",
    ]
    # A period goes on beyond its range, and the rest is clipped to it.
    moved = assumptions.scaled(x + np.array([0.0, 0.0, 2.0, 0.0, 0.0]))
    np.testing.assert_allclose(moved, found, atol=1e-12)
    ends = assumptions.scaled(np.clip(x, *np.transpose(RANGES)))
    kept = [index for index in range(20) if index not in assumptions.terms.of(2)]
    np.testing.assert_array_equal(ends[:, kept], found[:, kept])


@pytest.mark.parametrize(
    ("column", "bad"), [(0, np.nan), (2, np.inf), (2, 1e200), (3, 0.5), (3, 3.0), (3, np.nan)]
)
def test_values_without_a_place_make_their_own_record_invalid(column, bad):
    x = np.tile([1.0, 2.0, 0.5, 1.0, 0.0], (200, 1))
    whole, x[7, column] = subject_records(assumed(), x, np.zeros((200, 2)), ONE_EACH), bad
    found = subject_records(assumed(), x, np.zeros((200, 2)), ONE_EACH)
    assert np.flatnonzero(~found.valid[:, 0]).tolist() == [7]
    others = np.arange(200) != 7
    np.testing.assert_array_equal(found.covariates[others], whole.covariates[others])


def test_words_have_places_in_their_list_and_missing_ones_none():
    cells = np.array([["west"], [" north "], ["West"], [None], [np.nan], [2]], dtype=object)
    found = column_numbers(cells, Terms([REGION], [2.0]))[:, 0]
    np.testing.assert_array_equal(found, [2.0, 0.0, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(
    ("words", "cells"),
    [([1, 2], [1, 2]), ([False, True], [False, True]), (["1", 2.5], [1, 2.5]), ([1, 10**17], [1])],
)
def test_words_that_are_numbers_are_found_whatever_another_cell_made_of_their_column(words, cells):
    terms = Terms([basis_of({"words": words})], [1.0])
    whole = column_numbers(np.array(cells)[:, None], terms)[:, 0]
    np.testing.assert_array_equal(whole, range(len(cells)))
    with_missing = column_numbers(np.array([*cells, np.nan])[:, None], terms)[:, 0]
    np.testing.assert_array_equal(with_missing, [*whole, np.nan])
    # A number without all of its digits is no word, in a column of whole ones either.
    assert np.all(np.isnan(column_numbers(np.array([[10**17], [2**53]]), terms)))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"spline": 2}, "spline has 2 knots: give 3 to 12"),
        ({"polynomial": 2.5}, "polynomial has 2.5 degrees"),
        ({"words": ["a", "a"]}, "give two different ones or more"),
        ({"words": ["a", "b "]}, "'b ' is blank, or has blanks at its ends"),
        ({"words": ["a", "b\n"]}, "is no line that can be printed"),
        ({"spline": np.inf}, "give line, or one of spline: knots"),
        ({"spline": 4, "polynomial": 2}, "give line, or one of"),
        ("spline", "basis is 'spline'"),
    ],
)
def test_bases_that_are_none_are_refused(given, says):
    with pytest.raises(DataError, match=says):
        basis_of(given)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"products": [(0, 0)]}, "is no pair of two columns"),
        (
            {"transformation": ["none"] * 3 + ["log", "none"], "ranges": ((1.0, 3.0),) * 5},
            "of 3 words: give 0 to 2",
        ),
        (
            {"transformation": ["log"] * 3 + ["none"] * 2, "ranges": ((1.0, 3.0),) * 5},
            "or of a period: give none",
        ),
        ({"bases": {"periodic": 1e-310}, "ranges": (0.0, 8.0)}, "a period of 1e-310 is below"),
        ({"bases": {"periodic": 0.0079}, "ranges": (0.0, 8.0)}, "covariate_range, 0 to 8: give"),
        ({"names": ["a"]}, "names are 1, and columns 5"),
    ],
)
def test_public_inputs_that_do_not_go_together_are_refused(more, says):
    with pytest.raises(DataError, match=says):
        assumed(**more)


def test_values_are_for_all_columns_for_each_or_for_those_without_words():
    listed = [False, True, False]
    for given in ("evenly", ["evenly"] * 2, ["evenly", TWO_GROUPS, "evenly"]):
        assert of_all("key", given, listed, TWO_GROUPS) == ["evenly", TWO_GROUPS, "evenly"]
    for given, says in ((["evenly"], "key has 1 values"), (["evenly"] * 4, "key has 4 values")):
        with pytest.raises(DataError, match=says):
            of_all("key", given, listed, TWO_GROUPS)
    with pytest.raises(DataError, match="key is evenly for a covariate of listed words, and two"):
        of_all("key", ["evenly"] * 3, listed, TWO_GROUPS)


def test_simulated_covariates_lie_on_the_curve():
    """So do their moments, which are those of columns spread evenly over their ranges."""
    rng, assumptions = np.random.default_rng(2), assumed(products=[(0, 3)])
    x = np.stack([rng.uniform(*each, 100_000) for each in RANGES], axis=-1)
    x[:, 3] = rng.integers(0, 3, len(x))
    sample = np.insert(assumptions.places(x), 0, 1.0, axis=1)
    found = moment_matrix(Covariates.assumed(assumptions).moments)
    np.testing.assert_allclose(found, sample.T @ sample / len(x), atol=0.04)


def weeks():
    """Columns of points that go with the days of a week, higher of one group."""
    rng = np.random.default_rng(3)
    table = {"day": rng.uniform(0.0, 9.0, 60), "who": rng.choice(["b", "a"], 60)}
    clean = np.cos(2.0 * np.pi * table["day"] / 7.0) + 2.0 * (table["who"] == "a")
    return table | {"point": np.stack([clean, clean**0], axis=-1)}


def test_fits_find_curves_and_say_which_records_have_none():
    table = weeks()
    columns = np.array([table["day"], table["who"]], dtype=object).T
    more = {"basis": [{"periodic": 7}, {"words": ["b", "a"]}], "covariate_range": [(0, 9)]}
    found = geodp.fit(columns, table["point"], geodp.Euclidean(2), **more)
    assert found.r_squared == pytest.approx(1.0)
    np.testing.assert_allclose(found.predict([[14.0, "a"]]), [[3.0, 1.0]], atol=1e-9)
    with pytest.raises(DataError, match="record 2: a covariate is missing, none of its words"):
        found.predict([[14.0, "a"], [14.0, "c"]])


@pytest.mark.competitors
def test_fits_take_formulas():
    text, table = "point ~ periodic(day, 7) + words(who, 'b', 'a')", weeks()
    found = geodp.fit(text, table, geodp.Euclidean(2), covariate_range={"day": (0, 9)})
    np.testing.assert_allclose(found.predict(table), table["point"], atol=1e-9)
    assert found.covariate_names == ["day, cosine", "day, sine", "who: a"]


@pytest.mark.competitors
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("point ~ bs(age, df=4)", "its numbers or words from all records"),
        ("point ~ spline(age)", "lacks its number, which would follow from the data"),
        ("point ~ spline(age, knots)", "is not of a column and numbers"),
        ("point ~ exp(age)", "is no term: known are a column by its name, spline"),
        ("point ~ 0 + age", "has no intercept"),
        ("point ~ age + sex:age", "is no product of two of its terms"),
        ("point ~ spline(age, 4) + age", "has two terms of age"),
        ("a + b ~ age", "before ~ give the name of one column"),
        ("point ~ {age +}", "cannot be parsed .invalid syntax"),
        (f"point ~ spline({'(' * 300}age{')' * 300}, 4)", "cannot be parsed .too many nested"),
        ("point ~ age | sex", "has several parts"),
        ("log(point) ~ age", "before ~ give the name of one column"),
    ],
)
def test_formulas_that_learn_or_are_no_terms_are_refused(text, says):
    from geodp.models.formulas import read_formula

    with pytest.raises(DataError, match=says):
        read_formula(text)
