"""A cluster for tests: an executor that notes each job's rule and threads, and runs none."""

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.real import RealExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings, ExecMode

common_settings = CommonSettings(
    non_local_exec=True, implies_no_shared_fs=False, job_deploy_sources=False
)


class Executor(RealExecutor):
    cores = "all"

    def __post_init__(self):
        pass

    def run_job(self, job):
        submitted = SubmittedJobInfo(job)
        self.report_job_submission(submitted)
        print(f"submitted: {job.rule.name} with {job.threads} threads", flush=True)
        self.report_job_error(submitted)

    def get_python_executable(self):
        return "python"

    def get_exec_mode(self):
        return ExecMode.REMOTE

    def cancel(self):
        pass

    def shutdown(self):
        pass
