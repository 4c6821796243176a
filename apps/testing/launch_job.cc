#include "apps/testing/launch_job.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace dtnn::testing {

Arguments With(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Arguments SmallRun(int train_samples) {
  return {"--model=simplecnn_v1",
          "--dataset=synthetic",
          "--synthetic-pattern=classes",
          "--synthetic-input-shape=1,8,8",
          "--synthetic-output-shape=3",
          "--synthetic-train-samples=" + std::to_string(train_samples),
          "--synthetic-test-samples=23",
          "--validation-split=0.3",
          "--dtype=float64",
          "--parallel=data"};
}

Arguments Ranks(int ranks, const Arguments& run, const Arguments& options) {
  return With(With(With({"-n", std::to_string(ranks)}, options), {"--", kBenchmark}), run);
}

std::map<int, pid_t> RanksOf(pid_t launcher) {
  std::map<int, pid_t> ranks;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    std::ifstream stat(entry.path() / "stat");
    std::string number, name, state;
    int parent = 0;
    if (pid <= 0 || !(stat >> number >> name >> state >> parent) || parent != launcher) continue;
    if (state == "Z") continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string variables(std::istreambuf_iterator<char>(file), {});
    constexpr char kName[] = "PYMPI_RANK=";
    const size_t at = variables.find(kName);
    if (at != std::string::npos) ranks[std::atoi(variables.c_str() + at + sizeof(kName) - 1)] = pid;
  }
  return ranks;
}

}  // namespace dtnn::testing
