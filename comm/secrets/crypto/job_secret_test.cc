#include "comm/secrets/crypto/job_secret.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

std::string CoredumpFilter() {
  std::ifstream file("/proc/self/coredump_filter");
  std::string text;
  file >> text;
  return text;
}

// In a process of its own, which ends by a signal that leaves a core file where the limit allows
// it.
TEST(JobSecretTest, ACrashLeavesNoMemoryInAFileOrAPipe) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    rlimit limit = {};
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    KeepFromDumps();
    getrlimit(RLIMIT_CORE, &limit);
    // Where not even 1 is allowed a pipe gets a core file, and nothing in it.
    const bool kept = limit.rlim_cur == std::min<rlim_t>(1, limit.rlim_max) &&
                      CoredumpFilter().find_first_not_of('0') == std::string::npos;
    signal(SIGABRT, SIG_DFL);
    if (kept) abort();
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the limit or the filter is another one";
  EXPECT_FALSE(WCOREDUMP(status));
}

TEST(JobSecretTest, ASecretHas32CharactersAtLeast) {
  EXPECT_TRUE(JobSecret::Of(std::string(32, 'x')).ok());
  EXPECT_EQ(JobSecret::Of(std::string(31, 'x')).status().message(),
            "the secret has 31 characters, expected at least 32; `openssl rand -hex 32` makes one");
}

}  // namespace
}  // namespace dtnn
