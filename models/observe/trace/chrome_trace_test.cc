#include "models/observe/trace/chrome_trace.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

using Json = nlohmann::json;

struct Slice {
  int64_t begin, end;  // nanoseconds
  std::string name;
};

int64_t Nanoseconds(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

// Reads a trace by the rules of the format and of its viewers, and fails the test at the first that
// is broken.
class Trace {
 public:
  explicit Trace(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    bytes = int64_t(text.str().size());
    root = Json::parse(text.str());  // throws
    EXPECT_TRUE(root.at("traceEvents").is_array());
    for (const Json& event : root["traceEvents"]) Read(event);
    for (const auto& [track, slices] : tracks) CheckNesting(slices);
    CheckFlows();
  }

  Json root;
  int64_t bytes = 0;
  std::map<std::pair<int64_t, int64_t>, std::vector<Slice>> tracks;  // by process and thread
  std::map<int64_t, std::string> processes;
  std::map<std::pair<int64_t, int64_t>, std::string> threads;
  std::map<std::string, std::vector<double>> counters;
  struct Flow {
    std::pair<int64_t, int64_t> track;
    int64_t time = 0;
  };
  std::map<std::string, std::vector<Flow>> starts, ends;  // by id

 private:
  static int64_t Number(const Json& event, const char* key) {
    EXPECT_TRUE(event.at(key).is_number_integer()) << event;
    const int64_t number = event[key];
    EXPECT_GE(number, 1) << event;  // viewers take 0 for another
    EXPECT_LE(number, int64_t{UINT32_MAX}) << event;
    return number;
  }

  void Read(const Json& event) {
    ASSERT_TRUE(event.is_object());
    const std::string kind = event.at("ph"), name = event.at("name");
    EXPECT_FALSE(name.empty());
    const int64_t pid = Number(event, "pid");
    const auto keys = [&](std::set<std::string> allowed) {
      allowed.insert({"ph", "name", "pid"});
      for (const auto& [key, value] : event.items()) EXPECT_TRUE(allowed.contains(key)) << event;
    };
    if (kind == "M") {
      keys({"tid", "args"});
      if (name == "process_name") {
        EXPECT_TRUE(processes.emplace(pid, event["args"]["name"]).second);
      }
      if (name == "thread_name") {
        EXPECT_TRUE(
            threads.emplace(std::pair(pid, Number(event, "tid")), event["args"]["name"]).second);
      }
      return;
    }
    ASSERT_TRUE(event.at("ts").is_number()) << event;
    const int64_t time = Nanoseconds(event["ts"]);
    EXPECT_GE(time, 0);
    if (kind == "C") {
      keys({"ts", "args"});
      ASSERT_FALSE(event.at("args").empty());
      for (const auto& [key, value] : event["args"].items()) {
        ASSERT_TRUE(value.is_number()) << event;
        counters[name + " " + key].push_back(value);
      }
      return;
    }
    const std::pair track(pid, Number(event, "tid"));
    if (kind == "X") {
      keys({"ts", "dur", "tid", "cat", "args"});
      ASSERT_TRUE(event.at("dur").is_number()) << event;
      EXPECT_GE(event["dur"], 0);
      tracks[track].push_back({time, time + Nanoseconds(event["dur"]), name});
      return;
    }
    ASSERT_TRUE(kind == "s" || kind == "f") << event;
    keys({"ts", "tid", "cat", "id", "bp"});
    const std::string id = event.at("id");
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), id.npos) << "is read as hexadecimal";
    EXPECT_EQ(event.contains("bp"), kind == "f");
    EXPECT_EQ(event.value("bp", "e"), "e");
    (kind == "s" ? starts : ends)[id + " " + std::string(event.at("cat")) + " " + name].push_back(
        {track, time});
  }

  // In the order of the file, which puts what contains before what is inside.
  static void CheckNesting(const std::vector<Slice>& slices) {
    std::vector<Slice> open;
    for (const Slice& slice : slices) {
      while (!open.empty() && open.back().end <= slice.begin) open.pop_back();
      if (!open.empty()) {
        EXPECT_GE(slice.begin, open.back().begin);
        EXPECT_LE(slice.end, open.back().end) << slice.name << " overlaps " << open.back().name;
      }
      open.push_back(slice);
    }
  }

  bool Inside(const Flow& flow) const {
    return std::ranges::any_of(tracks.at(flow.track), [&](const Slice& slice) {
      return slice.begin < flow.time && flow.time < slice.end;
    });
  }

  void CheckFlows() const {
    for (const auto& [id, flows] : starts) {
      EXPECT_EQ(flows.size(), 1u) << "ids are used once";
      EXPECT_TRUE(Inside(flows[0])) << id;
    }
    for (const auto& [id, flows] : ends) {
      EXPECT_EQ(flows.size(), 1u);
      EXPECT_TRUE(Inside(flows[0])) << id;
      ASSERT_TRUE(starts.contains(id)) << "an arrow from nowhere";
      EXPECT_LT(starts.at(id)[0].time, flows[0].time);
    }
  }
};

std::string Path(const char* name) { return testing::TempDir() + "/" + name; }

const std::vector<LayerFacts> kLayers = {{.id = 5,
                                          .name = "5_FC",
                                          .type = "FC",
                                          .forward_flops = 123456789,
                                          .backward_flops = 246913578,
                                          .forward_bytes = 1e6,
                                          .backward_bytes = 2.5e6},
                                         {.id = 6, .name = "a\"b\\c\n", .type = "Relu"}};

// One step of a rank, which begins at `t`: nanoseconds.
std::vector<LoggedEvent> Step(int64_t t, uint64_t flow) {
  return {
      {{.activity = Activity::kTraining, .begin = t, .end = t + 100'000'000}, 1},
      {{.activity = Activity::kStep, .samples = 64, .begin = t + 10, .end = t + 20'000'000}, 1},
      {{.activity = Activity::kForward, .layer = 5, .samples = 64, .begin = t + 11, .end = t + 999},
       1},
      {{.activity = Activity::kForward, .layer = 6, .begin = t + 999, .end = t + 1999}, 1},
      {{.activity = Activity::kBackward, .layer = 7, .begin = t + 1999, .end = t + 2999}, 1},
      {{.activity = Activity::kReadData, .samples = 64, .begin = t + 2000, .end = t + 9'000'000},
       2},
      {{.activity = Activity::kExchange,
        .bytes = 4096,
        .begin = t + 3000,
        .end = t + 3500,
        .flow = flow},
       1},
      {{.activity = Activity::kWaitForGradients,
        .bytes = 4096,
        .begin = t + 4000,
        .end = t + 9000,
        .flow = flow},
       1},
      {{.activity = Activity::kMemory,
        .bytes = 5'000'000,
        .begin = t + 20'000'000,
        .end = t + 20'000'000},
       1},
  };
}

TEST(ChromeTraceTest, TwoRanksByTheRulesOfTheFormat) {
  const std::string path = Path("two.json");
  constexpr int64_t kOrigin = 1'000'000'123;
  auto writer = ChromeTraceWriter::Create(path, kOrigin, kLayers);
  ASSERT_TRUE(writer.ok()) << writer.status();
  // Two processes number their flows alike.
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(writer
                    ->Add({.rank = rank,
                           .events = Step(kOrigin + rank * 50, 7),
                           .dropped = rank == 0 ? 3 : 0})
                    .ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path)) << "half a file";
  ASSERT_TRUE(writer->Finish().ok());
  const Trace trace(path);
  EXPECT_EQ(trace.processes, (std::map<int64_t, std::string>{{1, "rank 0"}, {2, "rank 1"}}));
  EXPECT_EQ(trace.threads.at({1, 1}), "training");
  EXPECT_EQ(trace.threads.at({2, 2}), "loader 1");
  EXPECT_EQ(trace.tracks.size(), 4u);
  const std::vector<Slice>& training = trace.tracks.at({1, 1});
  ASSERT_EQ(training.size(), 7u);
  EXPECT_EQ(training[0].name, "training");
  EXPECT_EQ(training[2].name, "5_FC forward");
  EXPECT_EQ(training[2].begin, 11) << "to the nanosecond";
  EXPECT_EQ(training[2].end, 999);
  EXPECT_EQ(training[3].name, "a\"b\\c\n forward");
  EXPECT_EQ(training[4].name, "layer 7 backward");
  EXPECT_EQ(trace.tracks.at({2, 1})[0].begin, 50);
  EXPECT_EQ(trace.starts.size(), 2u);
  EXPECT_EQ(trace.ends.size(), 2u);
  EXPECT_EQ(trace.counters.at("memory MB"), (std::vector<double>{5, 5}));
  const std::vector<double>& speed = trace.counters.at("speed samples/s");
  ASSERT_EQ(speed.size(), 2u);
  EXPECT_NEAR(speed[0], 64 / 0.02, 1);
  EXPECT_EQ(trace.root["otherData"]["dropped events"], 3);
}

// A point for every 10 ms or more, over as many steps as these take, pauses between them included.
TEST(ChromeTraceTest, SpeedIsThatOfAllStepsSinceThePointBefore) {
  const std::string path = Path("speed.json");
  auto writer = ChromeTraceWriter::Create(path, 0, kLayers);
  ASSERT_TRUE(writer.ok()) << writer.status();
  constexpr int64_t kMillisecond = 1'000'000;
  std::vector<LoggedEvent> events;
  for (const auto& [begin, end, samples] :
       {std::tuple(10, 14, 8), std::tuple(15, 19, 8), std::tuple(20, 24, 5), std::tuple(25, 29, 7),
        std::tuple(30, 34, 9), std::tuple(35, 39, 11)}) {
    events.push_back({{.activity = Activity::kStep,
                       .samples = samples,
                       .begin = begin * kMillisecond,
                       .end = end * kMillisecond},
                      1});
  }
  ASSERT_TRUE(writer->Add({.rank = 0, .events = events}).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const std::vector<double> speed = Trace(path).counters.at("speed samples/s");
  ASSERT_EQ(speed.size(), 2u);
  EXPECT_NEAR(speed[0], (8 + 8 + 5) / 0.014, 1);
  EXPECT_NEAR(speed[1], (7 + 9) / 0.010, 1);
}

// Operations and bytes of a pass, of all its samples.
TEST(ChromeTraceTest, PassesOfLayersSayTheirWork) {
  const std::string path = Path("work.json");
  auto writer = ChromeTraceWriter::Create(path, 0, kLayers);
  const auto pass = [](Activity activity, int32_t layer, int64_t begin) {
    return LoggedEvent{
        {.activity = activity, .layer = layer, .samples = 2, .begin = begin, .end = begin + 5}, 1};
  };
  ASSERT_TRUE(
      writer
          ->Add({.events = {pass(Activity::kForward, 5, 10), pass(Activity::kBackward, 5, 20),
                            pass(Activity::kInference, 5, 30), pass(Activity::kUpdate, 5, 40),
                            pass(Activity::kForward, 9, 50)}})
          .ok());
  ASSERT_TRUE(writer->Finish().ok());
  const Trace trace(path);
  std::vector<Json> args;
  for (const Json& event : trace.root["traceEvents"]) {
    if (event["ph"] == "X") args.push_back(event.value("args", Json()));
  }
  ASSERT_EQ(args.size(), 5u);
  EXPECT_NEAR(args[0]["Mflop"].get<double>(), 2 * 123.456789, 1e-3);
  EXPECT_EQ(args[0]["MB"], 2);
  EXPECT_NEAR(args[1]["Mflop"].get<double>(), 2 * 246.913578, 1e-3);
  EXPECT_EQ(args[1]["MB"], 5);
  EXPECT_EQ(args[2], args[0]);
  EXPECT_TRUE(args[3].is_null()) << "an update belongs to several layers";
  EXPECT_TRUE(args[4].is_null()) << "nothing is known of that layer";
}

// A reading every 0.1 s: 4 J, then 7 J more.
std::vector<LoggedEvent> Readings(int64_t t) {
  std::vector<LoggedEvent> events;
  int64_t joules = 10;
  for (const int64_t more : {0, 4, 7}) {
    joules += more;
    events.push_back(
        {{.activity = Activity::kEnergy, .bytes = joules * 1'000'000, .begin = t, .end = t + 1000},
         1});
    t += 100'000'000;
  }
  return events;
}

TEST(ChromeTraceTest, PowerIsACounterOfEachRank) {
  const std::string path = Path("power.json");
  auto writer = ChromeTraceWriter::Create(path, 0, {});
  for (const int rank : {0, 1}) {
    ASSERT_TRUE(writer->Add({.rank = rank, .events = Readings(5000)}).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  const Trace trace(path);
  EXPECT_EQ(trace.counters.at("power W"), (std::vector<double>{40, 70, 40, 70}));
  EXPECT_EQ(trace.tracks.at({2, 1}).size(), 3u) << "what it takes to read them";
}

// What has no length cannot hold an arrow, and a wait whose exchange is not there gets none.
TEST(ChromeTraceTest, ArrowsNeedRoom) {
  const std::string path = Path("short.json");
  auto writer = ChromeTraceWriter::Create(path, 0, {});
  ASSERT_TRUE(
      writer
          ->Add({.events =
                     {{{.activity = Activity::kExchange, .begin = 5, .end = 6, .flow = 1}, 1},
                      {{.activity = Activity::kWaitForGradients, .begin = 10, .end = 20, .flow = 1},
                       1},
                      {{.activity = Activity::kWaitForGradients, .begin = 30, .end = 40, .flow = 2},
                       1}}})
          .ok());
  ASSERT_TRUE(writer->Finish().ok());
  const Trace trace(path);
  EXPECT_TRUE(trace.starts.empty());
  EXPECT_TRUE(trace.ends.empty());
}

TEST(ChromeTraceTest, AMillionEventsStayBelow200Megabytes) {
  const std::string path = Path("large.json");
  auto writer = ChromeTraceWriter::Create(path, 0, kLayers);
  std::vector<LoggedEvent> events;
  constexpr int64_t kEvents = 20'000, kHours = int64_t{3'600'000'000'000};
  for (int64_t i = 0; i < kEvents; ++i) {
    events.push_back({{.activity = Activity::kBackward,
                       .layer = 5,
                       .samples = 64,
                       .begin = kHours + i * 100'003,
                       .end = kHours + i * 100'003 + 99'999},
                      1});
  }
  ASSERT_TRUE(writer->Add({.rank = 63, .events = events}).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const Trace trace(path);
  EXPECT_EQ(int64_t(trace.tracks.at({64, 1}).size()), kEvents);
  EXPECT_LT(trace.bytes * 1'000'000 / kEvents, 200'000'000);
}

TEST(ChromeTraceTest, NamesThatCannotBeWrittenAreErrors) {
  EXPECT_FALSE(ChromeTraceWriter::Create("/no/such/folder/x.json", 0, {}).ok());
  EXPECT_FALSE(ChromeTraceWriter::Create(testing::TempDir(), 0, {}).ok());
}

// The disk is full in the middle.
int FailWrites(std::string_view step) { return step == "write" ? ENOSPC : 0; }

TEST(ChromeTraceTest, AFullDiskLeavesNoFile) {
  const std::string path = Path("full.json");
  auto writer = ChromeTraceWriter::Create(path, 0, kLayers);
  ASSERT_TRUE(writer.ok());
  internal::SetFileFaultHookForTesting(FailWrites);
  std::vector<LoggedEvent> events(20'000, Step(0, 1)[2]);
  const absl::Status added = writer->Add({.events = events});
  const absl::Status finished = writer->Finish();
  internal::SetFileFaultHookForTesting(nullptr);
  EXPECT_FALSE(added.ok());
  EXPECT_FALSE(finished.ok());
  EXPECT_NE(std::string(finished.message()).find("full.json"), std::string::npos) << finished;
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace dtnn
