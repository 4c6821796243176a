#include "comm/mpi/peer_processes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace dtnn {
namespace {

// Of /proc/PID/stat, whose second field is a name in parentheses: the fields from the third on.
constexpr int kState = 0, kStarted = 19;

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

uint64_t StartOf(const std::vector<std::string>& fields) {
  return fields.size() > kStarted ? std::strtoull(fields[kStarted].c_str(), nullptr, 10) : 0;
}

}  // namespace

ProcessId ProcessId::Mine() {
  std::string host;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), host);
  struct stat space = {};
  stat("/proc/self/ns/pid", &space);
  const int64_t pid = getpid();
  return {.host = std::hash<std::string>()(host + " " + std::to_string(space.st_ino)),
          .pid = pid,
          .started = StartOf(FieldsOf(pid))};
}

bool ProcessId::Ended() const {
  const std::vector<std::string> fields = FieldsOf(pid);
  return fields.empty() || StartOf(fields) != started || fields[kState] == "Z" ||
         fields[kState] == "X";
}

std::vector<int> EndedRanks(const std::vector<ProcessId>& processes) {
  const ProcessId mine = ProcessId::Mine();
  std::vector<int> ended;
  // Without /proc nothing is known.
  if (mine.started == 0) return ended;
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    if (processes[rank].host == mine.host && processes[rank].Ended()) ended.push_back(int(rank));
  }
  return ended;
}

}  // namespace dtnn
