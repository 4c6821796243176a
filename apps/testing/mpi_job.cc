#include "apps/testing/mpi_job.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace dtnn::testing {
namespace {

// What is common to all tests under mpirun; signals reach mpirun itself.
constexpr char kMpirun[] =
    ". tools/testing/mpi_environment.sh && "
    "exec /usr/bin/mpirun --oversubscribe --bind-to none \"$@\"";
// Marks the processes of one job.
constexpr char kTag[] = "DTNN_TEST_JOB";

std::string NewTag() {
  static int count = 0;
  return std::to_string(getpid()) + "-" + std::to_string(count++);
}

// Variables of a process, each between zeros; empty where it is gone.
std::string Environment(const std::filesystem::path& process) {
  std::ifstream file(process / "environ", std::ios::binary);
  return '\0' + std::string(std::istreambuf_iterator<char>(file), {});
}

bool Has(const std::string& environment, const std::string& variable) {
  return environment.find('\0' + variable + '\0') != std::string::npos;
}

}  // namespace

MpiJob::MpiJob(const std::string& program, const std::vector<std::string>& arguments,
               const MpiJobOptions& options)
    : program_(std::filesystem::canonical(program).string()), tag_(NewTag()) {
  setenv(kTag, tag_.c_str(), 1);
  setenv("TERM", "dumb", 1);
  setenv("TMPDIR", "/tmp", 1);  // paths of sockets are short
  setenv("OMPI_MCA_odls_base_sigkill_timeout", "5",
         1);  // seconds to end in order, on busy machines
  std::vector<std::string> words = {"-c", kMpirun, "mpirun", "-np", std::to_string(options.ranks)};
  if (options.recovery) words.push_back("--enable-recovery");
  // The shell outlives the program and tells how it ended.
  const std::string enter =
      options.folders.empty() ? "" : "cd '" + options.folders + "'/$OMPI_COMM_WORLD_RANK; ";
  words.insert(words.end(), {"/bin/sh", "-c", enter + R"(trap : TERM
                odd_rank=$1 odd_argument=$2
                shift 2
                [ "$OMPI_COMM_WORLD_RANK" != "$odd_rank" ] || set -- "$@" "$odd_argument"
                "$0" "$@"
                echo "rank $OMPI_COMM_WORLD_RANK ended with $?" >&2)",
                             program_, std::to_string(options.odd_rank), options.odd_argument});
  words.insert(words.end(), arguments.begin(), arguments.end());
  mpirun_.emplace("/bin/sh", words);
}

MpiJob::~MpiJob() {
  mpirun_ = std::nullopt;
  for (int rank = 0; rank < 64; ++rank) KillRank(rank);
}

std::optional<pid_t> MpiJob::Find(int rank) const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || std::filesystem::read_symlink(entry.path() / "exe", ignored) != program_) {
      continue;
    }
    const std::string environment = Environment(entry.path());
    if (Has(environment, kTag + ("=" + tag_)) &&
        Has(environment, "OMPI_COMM_WORLD_RANK=" + std::to_string(rank))) {
      return pid;
    }
  }
  return std::nullopt;
}

bool MpiJob::SignalRank(int rank, int number) {
  for (int tries = 0; tries < 10000; ++tries) {
    if (const std::optional<pid_t> pid = Find(rank)) return kill(*pid, number) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void MpiJob::KillRank(int rank) {
  if (const std::optional<pid_t> pid = Find(rank)) kill(*pid, SIGKILL);
}

int RankExitCode(const Outcome& outcome, int rank) {
  const std::string before = "rank " + std::to_string(rank) + " ended with ";
  const size_t at = outcome.text.find(before);
  return at == std::string::npos ? -1 : std::atoi(outcome.text.c_str() + at + before.size());
}

}  // namespace dtnn::testing
