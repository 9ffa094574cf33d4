"""What leaks if the mean of n records of a table is published: the main job, as a function.

`leakscore_app.analyse` judges every record against two attackers and returns a
`leakscore_app.Report`, whose ``to_text``, ``to_html`` and ``to_json`` the command ``leakscore
report`` prints and writes.

The JSON (``schema_version`` 2; numbers in full precision; infinite ones are "inf", null stands for
what is undefined or not asked for):

    tool, command, tool_version, seed
        what made it; the same input, options and seed give the same bytes
    verdict
        decision ("publish", "publish with noise" or "do not publish"), why (a sentence), worst (the
        record and its theory, simulated value, upper end and the larger of them), limit, max_noise,
        noise_standard_errors (what publishing takes), given_away (row numbers)
    input
        name, path, sha256, rows, columns; rows_judged, columns_judged, columns_left_out
        (name, reason), columns_published, columns_unjudged (they would be published, but nothing
        here speaks of them), rows_left_out (reason, count, first row numbers, cells of each
        column), notes
    release
        statistic, n, population ("infinite" or "finite"), draw, neighbours, base_population,
        base_rate, alpha, decimals (to which it is rounded)
    threat_models
        the informed attacker and the weaker one: knows, does_not_know, score
    differential_privacy
        that this is no guarantee, and why; the delta of the Gaussian-equivalent epsilons
    records_listed
        which ("all", "worst" or "none"), count, and of how many
    records
        one entry for each record that is listed: row (from 1; line and id beside it where they are
        known), leakage (left out of the reference), leakage_in_sample,
        certain (leakage is infinite), advantage, power (at 1 % false positives), ppv_at_base_rate,
        ppv_at_1_percent, gaussian_equivalent_epsilon (no guarantee), weaker (the same five). If
        the table knows whose the records are: one entry a person, row the first record, id the
        label and rows all records, who is left out as a whole; all else speaks of persons too
    counts
        for both attackers: records above 10, 50 and 90 % power, the median and the worst
    drivers, covariance
        shares of the columns in the worst records' leakage; condition number and sampling error
    game
        theory, simulated, std_error and upper (95 % end) of advantage and power, and more; differs,
        reason (if the Edgeworth law explains the difference), roc
    arithmetic
        records off the steps on which the values of all others (but for `others` of them) lie: row,
        column, step, exact (advantage of an attack on the remainder of the exact sum) and advantage
        (of the sum as it is published); hidden_by (decimals to round to, where that is enough);
        unchecked (why no steps were looked for)
    noise, remedies
        what brings the worst record down, and its leakage, advantage and power after it; the noise
        that the theory asks for (theory_standard_errors) and the one that the games of rows_played
        confirm (standard_errors, noise_std); noise is null if a record is given away by the
        difference of two means. shape ("optimal", "independent" or "same") and why_same; of the
        first two column_standard_errors (standard_errors is their root mean square), cost (the sum
        of their squares), gap (no such noise costs less than (1 - gap) cost in theory) and
        rows_at_limit; of the first covariance, the matrix of the noise on the mean, told (leakage
        of the worst record under it and under the one computed without this record) and beside
        (what the other shapes take in theory)
    audit
        certified epsilon of the worst record's game and the most these rounds could certify
    previous, and in every record new, batch_sizes, power_if_gaussian and alone
        only if means of the first rows were published before. All numbers above are then those of
        all means together; noise and remedies are those of the new records. previous: the batches
        of rows between two means, with counts. new: whether a record is in the last batch; alone:
        leakage, advantage and power of the present mean alone, for comparison; power_if_gaussian:
        of the best test, exact for small batches of Gaussian records, null where they are several
    cells, min_cell, pooled_cells
        only of tables by group: the cells with their worst records; those judged by the covariance
        within all cells, as they hold fewer than 10 (d + 1) records
    effective_n
        only with known weights: how many records with equal weights give a mean that varies as much
    notices
        level ("warning" or "note"), code and message
"""

from leakscore_app.report._report import analyse, open_table
from leakscore_app.report._verdict import EXIT_CODES, exit_code_of
from leakscore_app.report.result import Report
from leakscore_app.tables.table import Table, embedded_table, read_table, table_of

__all__ = [
    "EXIT_CODES",
    "Report",
    "Table",
    "analyse",
    "embedded_table",
    "exit_code_of",
    "open_table",
    "read_table",
    "table_of",
]
