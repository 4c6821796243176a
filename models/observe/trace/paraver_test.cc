#include "models/observe/trace/paraver.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// Digits, without blanks; a sign is an error.
int64_t Number(const std::string& text) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  EXPECT_TRUE(error == std::errc() && end == text.data() + text.size() && number >= 0)
      << '"' << text << '"';
  return number;
}

// Reads the three files by the published format, and fails the test at the first rule that is
// broken.
class Trace {
 public:
  using Thread = std::tuple<int64_t, int64_t>;  // task, thread
  struct State {
    int64_t begin, end, state;
  };
  struct EventRecord {
    int64_t time, type, value;
  };
  struct Message {
    Thread from, to;
    int64_t send, receive, bytes, tag;
  };

  explicit Trace(const std::string& path) {
    ReadLegend(Read(path.substr(0, path.size() - 4) + ".pcf"));
    const std::string text = Read(path);
    EXPECT_TRUE(text.ends_with('\n'));
    const std::vector<std::string> lines = Split(text, '\n');
    ReadHeader(lines.at(0));
    int64_t before = 0;
    for (size_t i = 1; i < lines.size(); ++i) {
      const int64_t time = ReadRecord(Split(lines[i], ':'), lines[i]);
      EXPECT_GE(time, before) << "records are sorted";
      before = time;
    }
    for (const auto& [thread, list] : states) {
      for (size_t i = 1; i < list.size(); ++i) {
        EXPECT_GE(list[i].begin, list[i - 1].end) << "states of a thread overlap";
      }
    }
    for (const auto& [key, value] : open) EXPECT_EQ(value, 0) << "an event does not end";
    ReadRows(Read(path.substr(0, path.size() - 4) + ".row"));
  }

  int64_t end = 0, cpus = 0;
  std::vector<int64_t> cpus_of_nodes, threads_of_tasks;
  std::map<Thread, std::vector<State>> states;
  std::map<Thread, std::vector<EventRecord>> events;
  std::vector<Message> messages;
  std::map<int64_t, std::map<int64_t, std::string>> values;  // by type
  std::set<int64_t> types, state_names;
  std::vector<std::string> row_names;

 private:
  void ReadHeader(const std::string& line) {
    ASSERT_THAT(line, StartsWith("#Paraver ("));
    const size_t date = line.find(')');
    EXPECT_EQ(line.substr(10, date - 10), "14/11/23 at 22:13");
    const std::vector<std::string> parts = Split(line.substr(date + 2), ':');
    // end, nodes(cpus), applications, tasks(threads, node of the first task, ...
    ASSERT_TRUE(parts.at(0).ends_with("_ns")) << line;
    end = Number(parts[0].substr(0, parts[0].size() - 3));
    const size_t bracket = parts.at(1).find('(');
    for (const std::string& node :
         Split(parts[1].substr(bracket + 1, parts[1].size() - bracket - 2), ',')) {
      cpus_of_nodes.push_back(Number(node));
      cpus += cpus_of_nodes.back();
    }
    EXPECT_EQ(Number(parts[1].substr(0, bracket)), int64_t(cpus_of_nodes.size()));
    EXPECT_EQ(Number(parts.at(2)), 1);
    const std::string tasks =
        line.substr(line.rfind('(') + 1, line.rfind(')') - line.rfind('(') - 1);
    for (const std::string& task : Split(tasks, ',')) {
      const std::vector<std::string> pair = Split(task, ':');
      ASSERT_EQ(pair.size(), 2u);
      threads_of_tasks.push_back(Number(pair[0]));
      EXPECT_LE(Number(pair[1]), int64_t(cpus_of_nodes.size()));
    }
    EXPECT_EQ(line.back(), ')');
  }

  // Fields i.. of a record: cpu, application, task, thread.
  Thread Place(const std::vector<std::string>& fields, size_t i) {
    EXPECT_GE(Number(fields.at(i)), 1);
    EXPECT_LE(Number(fields[i]), cpus);
    EXPECT_EQ(Number(fields.at(i + 1)), 1);
    const int64_t task = Number(fields.at(i + 2)), thread = Number(fields.at(i + 3));
    EXPECT_LE(task, int64_t(threads_of_tasks.size()));
    EXPECT_LE(thread, threads_of_tasks.at(size_t(task - 1)));
    int64_t first = 1;  // CPU of the task's node
    for (int64_t node = 1; node < task; ++node) first += cpus_of_nodes[size_t(node - 1)];
    EXPECT_EQ(Number(fields[i]), first + thread - 1);
    return {task, thread};
  }

  int64_t ReadRecord(const std::vector<std::string>& fields, const std::string& line) {
    const auto in_time = [&](int64_t time) { EXPECT_LE(time, end) << line; };
    const int64_t kind = Number(fields.at(0));
    const Thread thread = Place(fields, 1);
    if (kind == 1) {
      EXPECT_EQ(fields.size(), 8u) << line;
      const State state = {Number(fields[5]), Number(fields[6]), Number(fields[7])};
      EXPECT_LT(state.begin, state.end);
      in_time(state.end);
      EXPECT_TRUE(state_names.contains(state.state)) << line;
      states[thread].push_back(state);
      return state.begin;
    }
    if (kind == 2) {
      EXPECT_EQ(fields.size() % 2, 0u) << line;
      const int64_t time = Number(fields[5]);
      in_time(time);
      for (size_t i = 6; i < fields.size(); i += 2) {
        const int64_t type = Number(fields[i]), value = Number(fields[i + 1]);
        EXPECT_LE(type, INT32_MAX);
        EXPECT_TRUE(types.contains(type)) << line;
        if (values.contains(type)) {
          EXPECT_TRUE(values[type].contains(value)) << line;
          open[{thread, type}] = value;
        }
        events[thread].push_back({time, type, value});
      }
      return time;
    }
    EXPECT_EQ(kind, 3) << line;
    EXPECT_EQ(fields.size(), 15u) << line;
    const int64_t logical_send = Number(fields[5]), physical_send = Number(fields[6]);
    const Thread to = Place(fields, 7);
    const int64_t logical_receive = Number(fields[11]), physical_receive = Number(fields[12]);
    EXPECT_LE(logical_send, physical_send);
    EXPECT_LE(physical_send, physical_receive);
    in_time(physical_receive);
    in_time(logical_receive);
    messages.push_back(
        {thread, to, physical_send, physical_receive, Number(fields[13]), Number(fields[14])});
    return logical_send;
  }

  void ReadLegend(const std::string& text) {
    std::string section;
    int64_t type = 0;
    for (const std::string& line : Split(text, '\n')) {
      if (line.empty()) continue;
      EXPECT_NE(line.find_first_not_of(' '), line.npos) << "a line of blanks";
      if (line.find_first_of(" 0123456789") == line.npos) {
        section = line;
        continue;
      }
      std::stringstream words(line);
      std::string first, second;
      words >> first >> second;
      if (section == "STATES") state_names.insert(Number(first));
      if (section == "EVENT_TYPE") {
        type = Number(second);
        EXPECT_TRUE(types.insert(type).second);
      }
      if (section == "VALUES") {
        EXPECT_LE(Number(first), INT32_MAX);
        EXPECT_TRUE(values[type].emplace(Number(first), second).second) << line;
      }
    }
  }

  void ReadRows(const std::string& text) {
    const std::vector<std::string> lines = Split(text, '\n');
    for (size_t i = 0; i < lines.size();) {
      if (lines[i].empty()) {
        ++i;
        continue;
      }
      std::stringstream words(lines[i++]);
      std::string level, name, size, count;
      words >> level >> name >> size >> count;
      ASSERT_EQ(level, "LEVEL");
      ASSERT_EQ(size, "SIZE");
      const int64_t expected = name == "NODE" ? int64_t(cpus_of_nodes.size()) : cpus;
      EXPECT_EQ(Number(count), expected) << name;
      for (int64_t k = 0; k < expected; ++k, ++i) {
        ASSERT_LT(i, lines.size());
        EXPECT_FALSE(lines[i].empty());
        if (name == "THREAD") row_names.push_back(lines[i]);
      }
    }
  }

  std::map<std::pair<Thread, int64_t>, int64_t> open;  // values of events by type
};

constexpr std::time_t kDate = 1'700'000'000;  // 14 November 2023, 22:13 UTC
constexpr int64_t kOrigin = 1000;

const std::vector<LayerFacts> kLayers = {
    {.id = 1, .type = "Conv2D", .first_gradient = 0, .last_gradient = 40},
    {.id = 12, .type = "FC", .first_gradient = 48, .last_gradient = 100}};

// A step that begins at `t` after the origin; `late`: how much later the exchange begins.
std::vector<LoggedEvent> Step(int64_t t, int64_t late) {
  t += kOrigin;
  return {
      {{.activity = Activity::kStep, .samples = 8, .begin = t, .end = t + 1000}, 1},
      {{.activity = Activity::kForward, .layer = 12, .begin = t + 10, .end = t + 100}, 1},
      {{.activity = Activity::kReadData, .samples = 8, .begin = t + 20, .end = t + 2000}, 2},
      {{.activity = Activity::kAllReduce, .bytes = 8, .begin = t + 30, .end = t + 40}, 1},
      {{.activity = Activity::kExchange,
        .bytes = 400,
        .begin = t + 100 + late,
        .end = t + 150 + late,
        .first = 0,
        .last = 100,
        .flow = 3},
       1},
      {{.activity = Activity::kWaitForGradients,
        .bytes = 400,
        .begin = t + 200 + late,
        .end = t + 900,
        .first = 0,
        .last = 100,
        .flow = 3},
       1},
      {{.activity = Activity::kMemory, .bytes = 1 << 20, .begin = t + 1000, .end = t + 1000}, 1},
  };
}

class ParaverTest : public ::testing::Test {
 protected:
  ParaverTest() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

TEST_F(ParaverTest, TwoRanksByTheRulesOfTheFormat) {
  const std::string path = Path("two.prv");
  ParaverWriter writer(path, kOrigin, kLayers);
  writer.Add({.rank = 0, .events = Step(0, 0)});
  writer.Add({.rank = 1, .events = Step(5, 300)});
  ASSERT_TRUE(writer.Finish(kDate).ok());
  const Trace trace(path);
  EXPECT_EQ(trace.end, 2005);
  EXPECT_EQ(trace.threads_of_tasks, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(trace.row_names, (std::vector<std::string>{"THREAD 1.1.1", "THREAD 1.1.2",
                                                       "THREAD 1.2.1", "THREAD 1.2.2"}));
  // Running, in the all-reduce, running, in the exchange, running, waiting, running.
  std::vector<std::vector<int64_t>> states;
  for (const Trace::State& state : trace.states.at({1, 1})) {
    states.push_back({state.begin, state.end, state.state});
  }
  EXPECT_EQ(states, (std::vector<std::vector<int64_t>>{{0, 10, 1},
                                                       {10, 30, 1},
                                                       {30, 40, 13},
                                                       {40, 100, 1},
                                                       {100, 150, 13},
                                                       {150, 200, 1},
                                                       {200, 900, 8},
                                                       {900, 1000, 1}}));
  EXPECT_EQ(trace.states.at({1, 2}).at(0).state, 12);
  // Rank 1 came last, so rank 0 waited for it.
  ASSERT_EQ(trace.messages.size(), 1u);
  const Trace::Message& message = trace.messages[0];
  EXPECT_EQ(message.from, Trace::Thread(2, 1));
  EXPECT_EQ(message.to, Trace::Thread(1, 1));
  EXPECT_EQ(message.send, 405);
  EXPECT_EQ(message.receive, 900);
  EXPECT_EQ(message.bytes, 400);
  EXPECT_EQ(trace.values.at(60000001).at(61), "12_FC_forward");
  EXPECT_EQ(trace.values.at(60000001).at(8), "01_Conv2D_allreduce_dw");
  std::map<int64_t, int> model;
  for (const auto& event : trace.events.at({2, 1})) {
    if (event.type == 60000001) ++model[event.value];
  }
  EXPECT_EQ(model, (std::map<int64_t, int>{{0, 3}, {61, 1}, {8, 1}, {9, 1}}));
}

TEST_F(ParaverTest, PowerIsThatBetweenTwoReadings) {
  const std::string path = Path("power.prv");
  ParaverWriter writer(path, 0, {});
  std::vector<LoggedEvent> readings;
  for (const int64_t i : {0, 1, 2}) {
    readings.push_back({{.activity = Activity::kEnergy,
                         .bytes = 7'000'000 + i * i * 500'000,
                         .begin = i * 100'000'000,
                         .end = i * 100'000'000 + 1000},
                        1});
  }
  writer.Add({.rank = 0, .events = readings});
  writer.Add({.rank = 1, .events = readings});
  ASSERT_TRUE(writer.Finish(kDate).ok());
  const Trace trace(path);
  std::vector<int64_t> milliwatts;
  for (const auto& event : trace.events.at({2, 1})) {
    if (event.type == 60000007) milliwatts.push_back(event.value);
  }
  EXPECT_EQ(milliwatts, (std::vector<int64_t>{5000, 15000}));
}

TEST_F(ParaverTest, ARunWithoutEventsIsATraceToo) {
  const std::string path = Path("none.prv");
  ParaverWriter writer(path, 0, {});
  writer.Add({});
  ASSERT_TRUE(writer.Finish(kDate).ok());
  const Trace trace(path);
  EXPECT_TRUE(trace.states.empty());
  EXPECT_EQ(trace.cpus, 1);
}

int FailWrites(std::string_view step) { return step == "write" ? ENOSPC : 0; }

TEST_F(ParaverTest, AFullDiskLeavesNoFile) {
  ParaverWriter writer(Path("full.prv"), kOrigin, kLayers);
  writer.Add({.events = Step(0, 0)});
  internal::SetFileFaultHookForTesting(FailWrites);
  const absl::Status status = writer.Finish(kDate);
  internal::SetFileFaultHookForTesting(nullptr);
  EXPECT_THAT(std::string(status.message()), HasSubstr("full."));
  for (const char* name : {"full.prv", "full.pcf", "full.row"}) {
    EXPECT_FALSE(std::filesystem::exists(Path(name))) << name;
  }
}

}  // namespace
}  // namespace dtnn
