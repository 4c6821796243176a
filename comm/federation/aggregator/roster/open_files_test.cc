#include "comm/federation/aggregator/roster/open_files.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

int64_t SoftLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return int64_t(limit.rlim_cur);
}

// In a process of its own: a hard limit that was lowered stays so.
void PrintConnections() {
  const rlimit limit = {.rlim_cur = 400, .rlim_max = 1000};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(1);
  for (const auto& [wanted, least, files] : {std::array{80, 2, 1},
                                             {81, 2, 1},
                                             {80, 2, 2},
                                             {5000, 680, 1},
                                             {5000, 681, 1},
                                             {5000, 341, 2}}) {
    const absl::StatusOr<int64_t> connections = ConnectionsThatFilesAllow(wanted, least, files);
    std::cerr << (connections.ok() ? StrCat(*connections)
                                   : std::string(connections.status().message()))
              << " " << SoftLimit() << "\n";
  }
  _exit(0);
}

TEST(OpenFilesDeathTest, TheLimitIsRaisedAsFarAsTheSystemAllows) {
  EXPECT_EXIT(PrintConnections(), ::testing::ExitedWithCode(0),
              "^80 400\n81 401\n80 480\n680 1000\n"
              "rounds of 681 clients need 1001 open files, and the system allows 1000; raise the "
              "hard limit \\(ulimit -Hn\\), or begin with fewer clients 1000\n"
              "rounds of 341 clients need 1002 open files.* 1000\n$");
}

}  // namespace
}  // namespace dtnn::federation
