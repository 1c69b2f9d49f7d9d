"""The order in which notes of a trace are shown: missing and doubtful data first, harmless repairs last.

``trace.notes`` keeps the order of reading, because later notes can refer to earlier ones.
"""

from collections.abc import Sequence

from tfvis_nb.texts import id_of

HINDERS = frozenset(
    [
        "accelerator_ops_without_kernels",
        "clock_contradicted",
        "clocks_kept",
        "clocks_not_compared",
        "damaged_files_left_out",
        "device_tracer_off",
        "durations_absurd",
        "ended_by_error",
        "ended_by_sigterm",
        "ended_out_of_memory",
        "event_damaged",
        "event_durations_absurd",
        "event_file_cut_off",
        "events_set_aside",
        "gpu_clock_estimated",
        "gpu_clock_unknown",
        "gpu_launch_times_unknown",
        "gpu_launch_times_without_ops",
        "gpu_ops_without_kernels",
        "gpu_planes_empty",
        "gpu_profiling_failed",
        "gpu_rows_missing",
        "host_tracer_low",
        "jax_explanations_unread",
        "json_cut_off",
        "json_damage_skipped",
        "json_not_closed",
        "op_ends_replaced",
        "op_times_replaced",
        "part_of_run",
        "profile_of_program_lost",
        "profile_unwritten",
        "profile_without_kernels",
        "profiler_errors",
        "profiler_held_by_run",
        "profiler_taken",
        "ranks_apart",
        "recorded_days_apart",
        "recording_stopped",
        "rows_set_aside",
        "runs_without_gpu_rows",
        "runs_without_rows",
        "simultaneous_steps",
        "unknown_program",
        "unlike_programs",
        "unlike_runs",
        "workers_not_recorded",
    ]
)
"""Ids of notes about data that is missing or may be wrong."""

HARMLESS = frozenset(
    [
        "aggregate_rows_left_out",
        "counting_records_left_out",
        "derived_lines_left_out",
        "derived_rows_left_out",
        "devices_merged",
        "dialect",
        "document_keys_left_out",
        "documents_in_file",
        "events_of_no_step",
        "files_laid_together",
        "foreign_files_left_out",
        "host_rows",
        "job_files_merged",
        "json_backslashes",
        "json_commas",
        "json_quotes",
        "json_raw_controls",
        "metadata_events_left_out",
        "profile_repeats_runs",
        "profiler_rows_left_out",
        "recording_given_again",
        "repeated_timelines",
        "special_files_left_out",
        "system_folders_left_out",
        "threadpool_events_left_out",
    ]
)
"""Ids of notes about repeated or foreign data: the trace lacks nothing."""


def most_important_first(notes: Sequence[str]) -> list[str]:
    """Return notes in the order of how much they hinder reading; otherwise their order stays.

    >>> from tfvis_nb.texts import Text
    >>> notes = [Text("events_of_no_step", events=2), "a note", Text("gpu_profiling_failed")]
    >>> most_important_first(notes)[0], most_important_first(notes)[1]
    ('the profiler reported that it could not use the GPU', 'a note')
    """
    return sorted(notes, key=lambda note: (id_of(note) in HARMLESS) - (id_of(note) in HINDERS))
