#include "comm/ranks/mpi/control/peer_processes.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include "comm/launch_place.h"
#include "comm/patience.h"

namespace dtnn {
namespace {

// The fields of /proc/PID/stat from the third on; the second is a name in parentheses.
constexpr int kState = 0;

std::vector<std::string> FieldsOf(int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == line.npos) return {};
  std::istringstream rest(line.substr(name_end + 1));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

bool HasEnded(const std::vector<std::string>& fields) {
  return fields.empty() || fields[kState] == "Z" || fields[kState] == "X";
}

// Set for every process that mpirun starts: the job's name, the rank, how many are on the host.
constexpr char kJob[] = "PMIX_NAMESPACE", kRank[] = "PMIX_RANK";
constexpr char kSizeHere[] = "OMPI_COMM_WORLD_LOCAL_SIZE";

int Number(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// From the environment that a process began with, "NAME=value" each between zeros.
std::string_view Value(std::string_view environment, const std::string& name) {
  const std::string begin = '\0' + name + '=';
  const size_t at = environment.find(begin);
  if (at == environment.npos) return {};
  environment.remove_prefix(at + begin.size());
  return environment.substr(0, environment.find('\0'));
}

// The rank that a process of this program is in this job; nothing for other processes.
std::optional<int> RankInJob(const std::filesystem::path& process, std::string_view job,
                             const std::filesystem::path& program) {
  std::error_code error;
  if (std::filesystem::read_symlink(process / "exe", error) != program) return std::nullopt;
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string environment =
      '\0' + std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  const int rank = Number(Value(environment, kRank));
  if (Value(environment, kJob) != job || rank < 0) return std::nullopt;
  return rank;
}

std::string Sentence(const std::vector<int>& ranks, std::string_view state) {
  if (ranks.empty()) return "";
  return RankList(ranks) + (ranks.size() > 1 ? " are " : " is ") + std::string(state);
}

}  // namespace

std::string DescribeAbsentRanks() {
  const char* const job = std::getenv(kJob);
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (job == nullptr || error) return "";
  std::vector<int> stopped, running;
  std::filesystem::directory_iterator entry("/proc", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const int pid = Number(entry->path().filename().native());
    if (pid < 0) continue;
    const std::optional<int> rank = RankInJob(entry->path(), job, program);
    const std::vector<std::string> fields = FieldsOf(pid);
    if (!rank || HasEnded(fields)) continue;
    (fields[kState] == "T" || fields[kState] == "t" ? stopped : running).push_back(*rank);
  }
  std::sort(stopped.begin(), stopped.end());
  std::vector<int> gone;
  const char* const here = std::getenv(kSizeHere);
  const int size = FindLaunchPlace({.transport = Transport::kMpi}).ranks;
  for (int rank = 0; rank < size && here != nullptr && Number(here) == size; ++rank) {
    const bool there = std::count(stopped.begin(), stopped.end(), rank) +
                           std::count(running.begin(), running.end(), rank) >
                       0;
    if (!there) gone.push_back(rank);
  }
  std::string text = Sentence(stopped, "stopped");
  if (!text.empty() && !gone.empty()) text += "; ";
  return text + Sentence(gone, "not found on this host");
}

}  // namespace dtnn
