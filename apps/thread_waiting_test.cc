#include "apps/thread_waiting.h"

#include <cstdio>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// What the probe prints in an environment without settings but `environment`.
std::string Probe(const std::string& environment) {
  const std::string command = "env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY " + environment +
                              " apps/testing/print_waiting a 'b c'";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += char(c);
  return pclose(pipe) == 0 ? text : "failed: " + text;
}

TEST(ThreadWaitingTest, BeginsOnceMoreWithAShortWait) { EXPECT_EQ(Probe(""), "10000 a b c"); }

TEST(ThreadWaitingTest, WhatTheUserSetStays) {
  EXPECT_EQ(Probe("GOMP_SPINCOUNT=7"), "7 a b c");
  EXPECT_EQ(Probe("OMP_WAIT_POLICY=active"), "unset a b c");
}

}  // namespace
}  // namespace dtnn
