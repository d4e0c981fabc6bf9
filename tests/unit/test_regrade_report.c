/*
 * The page about a regrade.
 *
 * Called with the name of a board and a file, the program writes that board's page into it, for the test with a browser.
 */
#define _GNU_SOURCE
#include "regrade_scenes.h"

/* --- tests --- */

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

static void assert_says(const char *page, const char *what)
{
    if (!strstr(page, what))
        fail_msg("the page does not say: %s", what);
}

static void assert_says_not(const char *page, const char *what)
{
    if (strstr(page, what))
        fail_msg("the page says: %s", what);
}

/* Every element that is opened is closed, in order. */
static void assert_well_formed(const char *page)
{
    char open[64][16];
    size_t depth = 0;
    for (const char *at = strchr(page, '<'); at; at = strchr(at, '<')) {
        const char *end = strchr(at, '>');
        assert_non_null(end);
        size_t n = strcspn(at + 1 + (at[1] == '/'), " />\n");
        char name[16] = {0};
        assert_true(n < sizeof name);
        memcpy(name, at + 1 + (at[1] == '/'), n);
        if (at[1] == '/') {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (at[1] != '!' && end[-1] != '/') {
            assert_true(depth < LENGTH(open));
            memcpy(open[depth++], name, sizeof name);
        }
        at = end;
    }
    assert_int_equal(depth, 0);
}

static void the_same_kernel_ties_whatever_launches_it(void **state)
{
    (void)state;
    struct scene s = one_kernel_two_dispatches();
    char *page = page_of(&s);
    assert_well_formed(page);
    assert_says(page,
                "<h1>Of 2 entries 2 keep their place within noise; 1 of the first 2 owed it to "
                "its launch path.</h1>");
    assert_says(page, "Leads that were launch path only");
    assert_says(page, "<b>fast_dispatch</b> was ahead of <b>slow_dispatch</b>.");
    assert_says(page, "<th scope=\"col\">fast_dispatch</th><th scope=\"col\">slow_dispatch</th>");
    assert_says(page, "old board</th><td>9.100 µs</td><td>38.50 µs</td>");
    assert_says(page, "rank now</th><td>1</td><td>1</td>");
    assert_says(page, "2 tied within noise");
    assert_says(page, "2 of 2 launch paths take longer than what they launch");
    assert_says_not(page, "Wrong or gamed");
    free(page);
    free_scene(&s);
}

static void a_board_is_told_in_full(void **state)
{
    (void)state;
    struct scene s = forty();
    char *page = page_of(&s);
    assert_well_formed(page);
    assert_says(page, "40 entries read, 37 graded, 31 accepted, 3 that cannot be graded here.");
    assert_says(page, "6 that counted on the old board are not accepted.");
    assert_says(page, "Kendall’s τ <b>");
    assert_says(page, "Drawn are the first 25 of the old board");
    assert_says(page, "<b>2</b> <code>wrong_values</code> wrong answer");
    assert_says(page, "<b>1</b> <code>faster_than_roofline</code> suspect");
    assert_says(page, "<b>1</b> <code>no_kernel_node</code> refused");
    assert_says(page, "Without a figure for another reason");
    assert_says(page, "<b>2</b> <code>needs_python</code> The submission is in Python");
    assert_says(page, "One event pair around a call from Python.");
    assert_says(page, "the geometric mean of the times of the benchmark cases");
    assert_says(page, "Samples of 12 entries");
    assert_int_equal(count(page, "<figure class=\"strips\">"), 2);
    assert_int_equal(count(page, "<figure class=\"cloud\">"), 2);
    assert_int_equal(count(page, "<figure class=\"slopes\">"), 1);
    free(page);
    free_scene(&s);
}

static void a_rule_over_problems_makes_a_table_of_runs(void **state)
{
    (void)state;
    struct scene s = runs();
    char *page = page_of(&s);
    assert_well_formed(page);
    assert_says(page, "Over all problems");
    assert_says(page, "<td data-label=\"right\">12 → <b>");
    assert_says(page, "data-label=\"fast at 1.5\"");
    assert_says(page, "Speedup, then and now");
    /* 11 of 12: what was never entered was not right on either board. */
    assert_says(page, "<td data-label=\"right\">11 → <b>");
    assert_says(page, "<a href=\"#t0\">level1 · ArgMax</a>");
    assert_says(page, "id=\"t0\"");
    free(page);
    free_scene(&s);
}

static struct planned *add_recorded(struct scene *s, const char *problem, double old,
                                    const char *cases)
{
    struct planned *p = add(s, "agent", old, 1, 1);
    p->board = "arena";
    p->problem = problem;
    p->skip_code = "needs_python";
    p->skip_message = "Its harness is Python.";
    p->cases = cases;
    return p;
}

static void both_rules_of_an_arena_are_told(void **state)
{
    (void)state;
    struct scene s = {.unit = "points", .rule = "arena", .lower = false};
    add_recorded(&s, "graph", 260,
                 "[{\"time_ns\": 0.5e6, \"baseline_ns\": 1e6, \"method\": \"cuda_graph\"},"
                 " {\"time_ns\": 2.5e6, \"baseline_ns\": 2e6, \"method\": \"cuda_graph\"}]");
    add_recorded(&s, "unsaid", 320, "[{\"time_ns\": 0.5e6, \"baseline_ns\": 1e6}]");
    add_recorded(&s, "unmatched", 320,
                 "[{\"time_ns\": 1e6, \"baseline_ns\": 3e6, \"method\": \"cuda_graph\"},"
                 " {\"time_ns\": null, \"baseline_ns\": 1e6, \"method\": \"cuda_graph\"}]");
    char *page = page_of(&s);
    assert_well_formed(page);
    assert_says(page, "Nothing of it can be graded here.");
    assert_says(page, "<h2>As recorded</h2>");
    assert_says(page, "\"total as recorded\">900.0<");
    assert_says(page, "by main’s rule\">900.0<"); /* 260 + 320 + 320, of 2 ms / 1 ms */
    assert_says(page, "by #77’s rule\">500.0<");  /* 260 + 120 + 120 */
    assert_says(page, "no speedup by main’s\">1<");
    assert_says(page, "by #77’s\">2<");
    assert_says(page, "median\">1.700<"); /* of 1.4 and 2 */
    free(page);
    free_scene(&s);
}

static void a_recorded_run_counts_what_it_has_a_reference_for(void **state)
{
    (void)state;
    struct scene s = {.unit = "ms", .rule = "fast_p", .lower = true};
    add_recorded(&s, "ReLU", 0.5, "[{\"time_ns\": 0.5e6, \"baseline_ns\": 1e6}]");
    add_recorded(&s, "Sum", NAN, "[{\"time_ns\": null, \"baseline_ns\": 1e6}]");
    add_recorded(&s, "GELU", 3, "[{\"time_ns\": 3e6, \"baseline_ns\": null}]");
    struct planned *p =
        add_recorded(&s, "Softmax", 2, "[{\"time_ns\": 2e6, \"baseline_ns\": 1e6}]");
    snprintf(p->author, sizeof p->author, "another");
    char *page = page_of(&s);
    assert_well_formed(page);
    /* GELU, without a reference, leaves the four problems; Softmax, not entered, is not right. */
    assert_says(page, "<td class=\"left\">agent</td><td data-label=\"problems\">3</td><td "
                      "data-label=\"right\">1</td>");
    assert_says(page, "data-label=\"fast at 1.5\">0.333<");
    assert_says(page, "data-label=\"mean speedup\">2.000×<");
    free(page);
    free_scene(&s);
}

static void what_others_wrote_stays_text(void **state)
{
    (void)state;
    struct scene s = hostile();
    char *page = page_of(&s);
    assert_well_formed(page);
    assert_says_not(page, "<script");
    assert_says_not(page, "<img");
    assert_says_not(page, "\x1b");
    assert_says_not(page, "\u202e");
    assert_int_equal(count(page, "</style>"), 1);
    assert_says(page, "&lt;script&gt;alert(&#39;1&#39;)");
    assert_says(page, "&amp;amp;");
    free(page);
    free_scene(&s);
}

static void without_anything_graded_it_says_so(void **state)
{
    (void)state;
    struct scene none = {.unit = "us", .rule = "geom", .lower = true};
    char *page = page_of(&none);
    assert_well_formed(page);
    assert_says(page, "Nothing is graded yet.");
    free(page);
    io_remove_tree(folder, NULL);
    struct scene s = one_kernel_two_dispatches();
    s.list[0].verdict = "runtime_error";
    s.list[0].reason = "crashed";
    s.list[1].verdict = "infrastructure_error";
    s.list[1].reason = "device_quarantined";
    page = page_of(&s);
    assert_well_formed(page);
    assert_says(page, "None of the graded entries is accepted.");
    assert_says(page, "<code>device_quarantined</code>");
    free(page);
    free_scene(&s);
}

static void a_large_board_stays_a_small_page(void **state)
{
    (void)state;
    struct scene s = large(5000);
    char *page = page_of(&s);
    assert_well_formed(page);
    assert_says(page, "5000 entries read, 5000 graded, 4900 accepted.");
    assert_says(page, "Drawn are the first 25 of the old board");
    assert_says(page, "Drawn are 4000 of 4900.");
    assert_says(page, "The first 50 of 4900.");
    assert_says(page, "and 40 more");
    assert_true(strlen(page) < (1u << 20));
    assert_int_equal(count(page, "<figure class=\"strips\">"), 2);
    free(page);
    free_scene(&s);
}

static void many_boards_stay_a_small_page(void **state)
{
    (void)state;
    struct scene s = many_boards();
    char *page = page_of(&s);
    assert_well_formed(page);
    assert_int_equal(count(page, "<figure class=\"slopes\">"), BOARD_MAX_SLOPES);
    assert_int_equal(count(page, "<details class=\"table\""), BOARD_MAX_TABLES);
    assert_says(page, "70 more boards are in results.csv.");
    assert_true(count(page, "<figure class=\"strips\">") * OF_A_BOARD <= BOARD_MAX_DRAWN);
    assert_says(page, "8 entries; they are in results.csv.");
    assert_says(page, "Drawn are the 12 boards with the most entries, of 320.");
    free(page);
    free_scene(&s);
}

static void many_reasons_stay_a_short_list(void **state)
{
    (void)state;
    struct scene s = many_codes();
    char *page = page_of(&s);
    assert_well_formed(page);
    assert_int_equal(count(page, "<details class=\"code\">"), BOARD_MAX_CODES);
    assert_says(page, "9 more have other codes.");
    /* Of what is not graded, the last code stands for all others. */
    assert_says(page, "<b>10</b> <code>code_");
    assert_says(page, "xxxxx…");
    assert_int_equal(count(page, "<figure class=\"strips\">"), 8);
    assert_says(page, "The first 8 of 10 cases.");
    free(page);
    free_scene(&s);
}

/* Three entries with what stood on their board, all accepted, each slower on the device than the next. */
static struct regrade_store *grade_three(const struct regrade_original originals[3])
{
    struct regrade_store *store = open_store();
    kgrade_error err = {0};
    const struct regrade_source source = {.title = "three", .rule = NULL};
    must(regrade_store_begin_source(store, "folder", "/three", &source, &err), &err);
    for (unsigned i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        struct regrade_entry e = entry(id, id);
        e.author = id;
        e.original = originals[i];
        must(regrade_store_add(store, &e, &err), &err);
    }
    must(regrade_store_end_source(store, true, &err), &err);
    must(regrade_store_choose(store, NULL, 0, &err), &err);
    must(regrade_store_begin(store, REGRADE_FIRST, &err), &err);
    struct regrade_job job;
    while (!regrade_store_next(store, &job, &err)) {
        const struct planned p = {.device_ns = 1000 * (double)('9' - *job.source),
                                  .host_ns = 1,
                                  .percent = 1,
                                  .verdict = "accepted"};
        char *text = result_of(&p);
        must(regrade_store_finish(store, &job, text, NULL, &err), &err);
        free(text);
        regrade_job_free(&job);
    }
    return store;
}

/* Where the board told no figures, its ranks are the old order; what it said failed has none. */
static void ranks_do_where_there_are_no_figures(void **state)
{
    (void)state;
    struct regrade_store *store =
        grade_three((const struct regrade_original[]){{.value = NAN, .rank = 1},
                                                      {.value = NAN, .rank = 2},
                                                      {NAN, .rank = 3, .passed = REGRADE_FAILED}});
    kgrade_error err = {0};
    struct board board;
    must(board_gather(store, &board, &err), &err);
    assert_int_equal(board.n_tables, 1);
    assert_true(board.tables[0].by_rank);
    assert_string_equal(board.tables[0].rule->name, "score");
    assert_int_equal(board.tables[0].ranking.compared, 2);
    assert_int_equal(board.entries[0].ranked.old_rank, 1);
    assert_int_equal(board.entries[0].ranked.new_rank, 3);
    assert_int_equal(board.entries[2].ranked.old_rank, 0);
    assert_int_equal(board.entries[2].ranked.new_rank, 1);
    board_free(&board);
    regrade_store_close(store);
}

/* 300 us are less than 1 ms; points are no time at all. */
static void figures_are_compared_in_one_unit(void **state)
{
    (void)state;
    struct regrade_store *store = grade_three(
        (const struct regrade_original[]){{.value = 300, .unit = "us", .lower_is_better = true},
                                          {.value = 1, .unit = "ms", .lower_is_better = true},
                                          {.value = 0.5, .unit = "points"}});
    kgrade_error err = {0};
    struct board board;
    must(board_gather(store, &board, &err), &err);
    assert_int_equal(board.tables[0].ranking.compared, 2);
    assert_int_equal(board.entries[0].ranked.old_rank, 1);
    assert_int_equal(board.entries[1].ranked.old_rank, 2);
    assert_int_equal(board.entries[2].ranked.old_rank, 0);
    board_free(&board);
    regrade_store_close(store);
}

/* A line for each entry, with its place then and now, and by which rule. */
static void a_table_has_the_new_ranking(void **state)
{
    (void)state;
    struct scene s = one_kernel_two_dispatches();
    struct regrade_store *store = make_store(&s);
    kgrade_error err = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    must(regrade_report_csv(store, out, &err), &err);
    assert_int_equal(fclose(out), 0);
    assert_says(text, "original_passed,old_place,new_rank,figure,");
    const char *slow = strstr(text, "slow_dispatch,"), *fast = strstr(text, "fast_dispatch,");
    assert_true(slow && fast);
    char line[1024];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(fast, "\r"), fast);
    assert_says(line, ",true,1,1,");
    assert_string_equal(strrchr(line, ','), ",launch_path");
    snprintf(line, sizeof line, "%.*s", (int)strcspn(slow, "\r"), slow);
    assert_says(line, ",true,2,1,");
    assert_says(line, ",s,");
    assert_string_equal(strrchr(line, ','), ",");
    free(text);
    regrade_store_close(store);
    free_scene(&s);
}

/* The rule of a board that ranks times is one of times, and the drift of the baseline widens what it comes to. */
static void times_are_ranked_as_times(void **state)
{
    (void)state;
    struct scene s = forty();
    s.rule = "score";
    struct regrade_store *store = make_store(&s);
    kgrade_error err = {0};
    struct board board;
    must(board_gather(store, &board, &err), &err);
    const struct board_table *t = &board.tables[0];
    assert_string_equal(t->rule->name, "geom");
    assert_true(t->old_lower && !t->by_rank);
    assert_true(t->drift > 0.0005 && t->drift < 0.01);
    for (size_t i = 0; i < t->n; i++) {
        const struct board_entry *e = &board.entries[t->first + i];
        if (!e->accepted)
            continue;
        assert_true(fabs(e->ranked.now.value * 1e9 / e->device_ns - 1) < 1e-9);
        assert_true(e->ranked.now.low <= e->ranked.now.value * (1 - t->drift));
        assert_true(e->ranked.now.high >= e->ranked.now.value * (1 + t->drift));
    }
    board_free(&board);
    regrade_store_close(store);
    free_scene(&s);
}

static int write_scene(const char *name, const char *path)
{
    struct scene s = !strcmp(name, "pair")      ? one_kernel_two_dispatches()
                     : !strcmp(name, "forty")   ? forty()
                     : !strcmp(name, "runs")    ? runs()
                     : !strcmp(name, "hostile") ? hostile()
                     : !strcmp(name, "large")   ? large(5000)
                                                : (struct scene){.unit = "us", .rule = "geom"};
    if (make_folder(NULL))
        return 1;
    char *page = page_of(&s);
    FILE *out = fopen(path, "w");
    int rc = !out || fputs(page, out) < 0;
    if (out)
        rc |= fclose(out);
    free(page);
    free_scene(&s);
    return remove_folder(NULL) || rc;
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return write_scene(argv[1], argv[2]);
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(the_same_kernel_ties_whatever_launches_it),
        WITH_FOLDER(a_board_is_told_in_full),
        WITH_FOLDER(a_rule_over_problems_makes_a_table_of_runs),
        WITH_FOLDER(both_rules_of_an_arena_are_told),
        WITH_FOLDER(a_recorded_run_counts_what_it_has_a_reference_for),
        WITH_FOLDER(what_others_wrote_stays_text),
        WITH_FOLDER(without_anything_graded_it_says_so),
        WITH_FOLDER(a_large_board_stays_a_small_page),
        WITH_FOLDER(many_boards_stay_a_small_page),
        WITH_FOLDER(many_reasons_stay_a_short_list),
        WITH_FOLDER(ranks_do_where_there_are_no_figures),
        WITH_FOLDER(figures_are_compared_in_one_unit),
        WITH_FOLDER(a_table_has_the_new_ranking),
        WITH_FOLDER(times_are_ranked_as_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
