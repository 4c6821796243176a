#include "apps/monitor/process_metrics.h"

#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

double ValueOf(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + " ");
  EXPECT_NE(at, text.npos) << name;
  return std::atof(text.c_str() + at + name.size() + 2);
}

double Seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

TEST(ProcessMetricsTest, MemoryProcessorTimeAndVersionAreThoseOfThisProcess) {
  const double before = Seconds();
  MetricsText text;
  AddProcess(text);
  const double after = Seconds();
  // Shown with a few digits.
  EXPECT_GE(ValueOf(text.text(), "process_cpu_seconds_total"), before * 0.999 - 1e-3);
  EXPECT_LE(ValueOf(text.text(), "process_cpu_seconds_total"), after * 1.001 + 1e-3);
  const double memory = ValueOf(text.text(), "process_resident_memory_bytes");
  EXPECT_GT(memory, 1e6);
  EXPECT_LT(memory, 1e10);
  EXPECT_THAT(text.text(), ::testing::HasSubstr("\ndtnn_build_info{version=\"" +
                                                std::string(Version()) + "\"} 1\n"));
}

}  // namespace
}  // namespace dtnn
