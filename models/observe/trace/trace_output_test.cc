#include "models/observe/trace/trace_output.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/energy/power_log.h"
#include "models/observe/trace/chrome_trace.h"
#include "models/observe/trace/paraver.h"
#include "models/observe/trace/profile_report.h"
#include "models/observe/trace/simple_trace.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

class TraceOutputTest : public ::testing::Test {
 protected:
  TraceOutputTest() : folder_(::testing::TempDir() + "/trace_output") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::string Put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  static void ExpectForeign(const absl::Status& status, const std::string& file) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file + ": is not "));
  }

  const std::string folder_;
  const std::vector<LayerFacts> layers_ = {{.id = 1, .name = "1_Conv2D", .type = "Conv2D"}};
  const RankEvents events_ = {
      .events = {{{.activity = Activity::kForward, .layer = 1, .begin = 10, .end = 20}, 1}}};
};

TEST_F(TraceOutputTest, WhatTheWritersWriteMayBeReplaced) {
  const std::string chrome = folder_ + "/t.json", paraver = folder_ + "/t.prv";
  auto first = ChromeTraceWriter::Create(chrome, 0, layers_);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(first->Add(events_).ok());
  ASSERT_TRUE(first->Finish().ok());
  EXPECT_EQ(CheckTraceOutput(chrome), absl::OkStatus());

  ParaverWriter second(paraver, 0, layers_);
  second.Add(events_);
  ASSERT_TRUE(second.Finish(1'700'000'000).ok());
  EXPECT_EQ(CheckTraceOutput(paraver), absl::OkStatus());

  SimpleTrace third(layers_);
  const std::string simple = Put("t.csv", third.Text(layers_));
  Put("t.csv.watts", PowerLog().Text());
  EXPECT_EQ(CheckTraceOutput(simple, /*watts=*/true), absl::OkStatus());

  EXPECT_EQ(CheckProfileOutput(Put("p.json", ReportJson({}))), absl::OkStatus());
  EXPECT_EQ(CheckProfileOutput(Put("p.csv", ReportCsv({}))), absl::OkStatus());
}

TEST_F(TraceOutputTest, FilesOfOtherToolsStay) {
  // As PyTorch's profiler and TensorFlow's write them.
  for (const char* const text : {"{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [",
                                 "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[",
                                 "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[{\"ph\":\"X\"}]}"}) {
    const std::string path = Put("t.json", text);
    ExpectForeign(CheckTraceOutput(path), path);
  }
  // As Extrae writes them: the records alone do not show it.
  const std::string records =
      Put("t.prv", "#Paraver (01/02/2026 at 10:00):5_ns:1(4):1:1(4:1)\n1:1:1:1:1:0:5:1\n");
  EXPECT_EQ(CheckTraceOutput(records), absl::OkStatus());
  const std::string legend = Put("t.pcf", "DEFAULT_OPTIONS\n\nLEVEL               THREAD\n");
  ExpectForeign(CheckTraceOutput(records), legend);
  std::filesystem::remove(legend);
  const std::string rows = Put("t.row", "LEVEL CPU SIZE 4\n1.node1\n");
  ExpectForeign(CheckTraceOutput(records), rows);

  const std::string table = Put("t.csv", "a;b\n");
  ExpectForeign(CheckTraceOutput(table), table);
  ExpectForeign(CheckProfileOutput(Put("p.csv", "name,type\n")), folder_ + "/p.csv");
  ExpectForeign(CheckProfileOutput(Put("p.json", "{\"steps\": 5}")), folder_ + "/p.json");
}

TEST_F(TraceOutputTest, WattsCountWhereTheyAreWritten) {
  const std::string watts = Put("t.csv.watts", "notes");
  EXPECT_EQ(CheckTraceOutput(folder_ + "/t.csv"), absl::OkStatus());
  ExpectForeign(CheckTraceOutput(folder_ + "/t.csv", /*watts=*/true), watts);
}

}  // namespace
}  // namespace dtnn
