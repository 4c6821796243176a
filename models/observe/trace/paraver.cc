#include "models/observe/trace/paraver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "absl/strings/str_format.h"
#include "models/observe/trace/model_events.h"
#include "models/observe/trace/watts_between.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr int64_t kModel = 60000001, kPasses = 60000003, kSteps = 60000004, kOthers = 60000005,
                  kMemory = 60000006, kPower = 60000007;
// Extrae's numbers.
enum State : int {
  kIdle = 0,
  kRunning = 1,
  kWaitingForMessage = 3,
  kSynchronization = 5,
  kWait = 8,
  kInputOutput = 12,
  kGroupCommunication = 13,
};
struct StateText {
  State state;
  std::string_view name, color;
};
constexpr StateText kStates[] = {
    {kIdle, "Idle", "117,195,255"},
    {kRunning, "Running", "0,0,255"},
    {kWaitingForMessage, "Waiting a message", "255,0,0"},
    {kSynchronization, "Synchronization", "248,168,0"},
    {kWait, "Wait/WaitAll", "235,0,0"},
    {kInputOutput, "I/O", "69,139,0"},
    {kGroupCommunication, "Group Communication", "255,144,26"},
};

State StateOf(Activity activity) {
  switch (activity) {
    case Activity::kWaitForGradients:
      return kWait;
    case Activity::kWaitForData:
    case Activity::kReceive:
      return kWaitingForMessage;
    case Activity::kBarrier:
      return kSynchronization;
    case Activity::kReadData:
    case Activity::kCheckpoint:
    case Activity::kEnergy:
      return kInputOutput;
    case Activity::kExchange:
    case Activity::kBroadcast:
    case Activity::kAllReduce:
    case Activity::kAllGather:
    case Activity::kReduceScatter:
    case Activity::kAllToAll:
    case Activity::kSend:
      return kGroupCommunication;
    default:
      return kRunning;
  }
}

// The type of an activity that is none of a layer; its value is one more than its number.
int64_t TypeOf(Activity activity) {
  switch (activity) {
    case Activity::kTraining:
    case Activity::kValidation:
    case Activity::kTest:
      return kPasses;
    case Activity::kStep:
    case Activity::kEvaluate:
      return kSteps;
    default:
      return kOthers;
  }
}

}  // namespace

std::string ParaverWriter::LegendOf(std::string_view path) {
  return StrCat(path.substr(0, path.size() - 4), ".pcf");
}

std::string ParaverWriter::RowsOf(std::string_view path) {
  return StrCat(path.substr(0, path.size() - 4), ".row");
}

ParaverWriter::ParaverWriter(std::string_view path, int64_t origin,
                             std::span<const LayerFacts> layers)
    : path_(path), origin_(origin), layers_(layers.begin(), layers.end()) {}

void ParaverWriter::AddState(int32_t task, int32_t thread, int64_t begin, int64_t end, int state) {
  if (begin >= end) return;
  records_.push_back({.time = begin,
                      .kind = Record::Kind::kState,
                      .task = task,
                      .thread = thread,
                      .a = end,
                      .b = state});
}

// States of each thread, from its first event to its last.
void ParaverWriter::AddStates(const std::vector<LoggedEvent>& events, int32_t task,
                              int32_t threads) {
  struct Open {
    int64_t end;
    int state;
  };
  struct Timeline {
    std::vector<Open> open;
    int64_t since = -1;
  };
  std::vector<Timeline> timelines(static_cast<size_t>(threads));
  // Up to `time`, the innermost span that is open decides.
  const auto advance = [&](int32_t thread, int64_t time) {
    Timeline& line = timelines[size_t(thread - 1)];
    while (!line.open.empty() && line.open.back().end <= time) {
      AddState(task, thread, line.since, line.open.back().end, line.open.back().state);
      line.since = std::max(line.since, line.open.back().end);
      line.open.pop_back();
    }
    if (line.since >= 0) {
      AddState(task, thread, line.since, time, line.open.empty() ? kIdle : line.open.back().state);
    }
    line.since = time;
  };
  for (const auto& [event, thread] : events) {
    if (event.activity == Activity::kMemory) continue;
    advance(thread, event.begin - origin_);
    timelines[size_t(thread - 1)].open.push_back({event.end - origin_, StateOf(event.activity)});
  }
  for (int32_t thread = 1; thread <= threads; ++thread) {
    Timeline& line = timelines[size_t(thread - 1)];
    while (!line.open.empty()) advance(thread, line.open.back().end);
  }
}

void ParaverWriter::AddEvent(const LoggedEvent& logged, int32_t task, int64_t time, int64_t type,
                             int64_t value) {
  records_.push_back({.time = time - origin_,
                      .kind = Record::Kind::kEvent,
                      .task = task,
                      .thread = logged.thread,
                      .a = type,
                      .b = value});
}

void ParaverWriter::AddPair(const LoggedEvent& logged, int32_t task, int64_t type, int64_t value) {
  AddEvent(logged, task, logged.event.begin, type, value);
  AddEvent(logged, task, logged.event.end, type, 0);
}

// The power since the previous reading.
void ParaverWriter::AddPower(const LoggedEvent& logged, int32_t task) {
  const std::optional<double> watts = WattsBetween(energy_, logged.event);
  if (watts) AddEvent(logged, task, energy_.end, kPower, std::llround(1e3 * *watts));
  energy_ = logged.event;
}

void ParaverWriter::AddEvents(const LoggedEvent& logged, int32_t task) {
  const Event& event = logged.event;
  if (event.activity == Activity::kMemory) {
    AddEvent(logged, task, event.begin, kMemory, event.bytes);
    return;
  }
  if (event.activity == Activity::kEnergy) AddPower(logged, task);
  const ModelKind kind = ModelKindOf(event.activity);
  if (kind == kNoModelKind) {
    AddPair(logged, task, TypeOf(event.activity), int64_t(event.activity) + 1);
    return;
  }
  const int layer = ModelLayerOf(event, layers_);
  if (layer >= 0) AddPair(logged, task, kModel, int64_t{layer} * kModelKinds + kind);
}

void ParaverWriter::Add(const RankEvents& rank) {
  Task task;
  if (!tasks_.empty()) task.first_cpu = tasks_.back().first_cpu + tasks_.back().threads;
  for (const LoggedEvent& logged : rank.events) {
    task.threads = std::max(task.threads, logged.thread);
    end_ = std::max(end_, logged.event.end - origin_);
  }
  tasks_.push_back(task);
  const int32_t number = int32_t(tasks_.size());
  energy_ = {};
  AddStates(rank.events, number, task.threads);
  std::vector<Exchange>& exchanges = exchanges_.emplace_back();
  std::unordered_map<uint64_t, size_t> by_flow;
  for (const LoggedEvent& logged : rank.events) {
    const Event& event = logged.event;
    AddEvents(logged, number);
    if (event.activity == Activity::kExchange) {
      by_flow[event.flow] = exchanges.size();
      exchanges.push_back(
          {.begin = event.begin - origin_, .bytes = event.bytes, .thread = logged.thread});
    } else if (event.activity == Activity::kWaitForGradients && by_flow.contains(event.flow)) {
      exchanges[by_flow[event.flow]].wait_end = event.end - origin_;
    }
  }
}

// From the last rank that begins a sum to all others. Ranks of which events are missing have fewer.
void ParaverWriter::AddCommunications() {
  size_t sums = std::numeric_limits<size_t>::max();
  for (const auto& exchanges : exchanges_) sums = std::min(sums, exchanges.size());
  if (exchanges_.size() < 2) return;
  for (size_t i = 0; i < sums; ++i) {
    size_t last = 0;
    for (size_t task = 1; task < exchanges_.size(); ++task) {
      if (exchanges_[task][i].begin > exchanges_[last][i].begin) last = task;
    }
    const Exchange& from = exchanges_[last][i];
    for (size_t task = 0; task < exchanges_.size(); ++task) {
      const Exchange& to = exchanges_[task][i];
      if (task == last || to.wait_end < from.begin) continue;
      records_.push_back({.time = from.begin,
                          .kind = Record::Kind::kCommunication,
                          .task = int32_t(last) + 1,
                          .thread = from.thread,
                          .a = int64_t(communications_.size())});
      communications_.push_back({.from_task = int32_t(last) + 1,
                                 .from_thread = from.thread,
                                 .to_task = int32_t(task) + 1,
                                 .to_thread = to.thread,
                                 .send = from.begin,
                                 .receive = to.wait_end,
                                 .bytes = from.bytes,
                                 .tag = int64_t(i)});
    }
  }
}

std::string ParaverWriter::Header(std::time_t date) const {
  std::tm local = {};
  localtime_r(&date, &local);
  std::string nodes, tasks;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    StrAppend(&nodes, i == 0 ? "" : ",", tasks_[i].threads);
    StrAppend(&tasks, i == 0 ? "" : ",", tasks_[i].threads, ":", i + 1);
  }
  return absl::StrFormat("#Paraver (%02d/%02d/%02d at %02d:%02d):%d_ns:%d(%s):1:%d(%s)\n",
                         local.tm_mday, local.tm_mon + 1, local.tm_year % 100, local.tm_hour,
                         local.tm_min, end_, tasks_.size(), nodes, tasks_.size(), tasks);
}

// "cpu:application:task:thread"
std::string ParaverWriter::Place(int32_t task, int32_t thread) const {
  return StrCat(tasks_[size_t(task - 1)].first_cpu + thread - 1, ":1:", task, ":", thread);
}

std::string ParaverWriter::Line(const Record& record) const {
  const std::string place = Place(record.task, record.thread);
  switch (record.kind) {
    case Record::Kind::kState:
      return StrCat("1:", place, ":", record.time, ":", record.a, ":", record.b, "\n");
    case Record::Kind::kEvent:
      return StrCat("2:", place, ":", record.time, ":", record.a, ":", record.b, "\n");
    case Record::Kind::kCommunication:
      break;
  }
  const Communication& c = communications_[size_t(record.a)];
  return StrCat("3:", place, ":", c.send, ":", c.send, ":", Place(c.to_task, c.to_thread), ":",
                c.receive, ":", c.receive, ":", c.bytes, ":", c.tag, "\n");
}

std::string ParaverWriter::Legend() const {
  std::string text =
      "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n"
      "LOOK_BACK           100\nSPEED               1\nFLAG_ICONS          ENABLED\n"
      "NUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\n\n"
      "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\n\nSTATES\n";
  for (const StateText& state : kStates) {
    absl::StrAppendFormat(&text, "%d    %s\n", int(state.state), std::string(state.name));
  }
  text += "\n\nSTATES_COLOR\n";
  for (const StateText& state : kStates) {
    absl::StrAppendFormat(&text, "%d    {%s}\n", int(state.state), std::string(state.color));
  }
  int most = 0;
  for (const LayerFacts& layer : layers_) most = std::max(most, layer.id);
  const int digits = int(StrCat(most).size());
  absl::StrAppendFormat(&text, "\n\nEVENT_TYPE\n0    %d    Model\nVALUES\n0      End\n", kModel);
  for (const LayerFacts& layer : layers_) {
    for (int kind = 1; kind <= kModelKinds; ++kind) {
      absl::StrAppendFormat(&text, "%d      %0*d_%s_%s\n", layer.id * kModelKinds + kind, digits,
                            layer.id, OneLine(layer.type), std::string(Name(ModelKind(kind))));
    }
  }
  for (const auto& [type, label] : {std::pair(kPasses, "Epochs and tests"),
                                    std::pair(kSteps, "Steps"), std::pair(kOthers, "Others")}) {
    absl::StrAppendFormat(&text, "\n\nEVENT_TYPE\n0    %d    %s\nVALUES\n0      End\n", type,
                          label);
    for (int i = 0; i < kActivities; ++i) {
      const Activity activity = Activity(i);
      if (activity == Activity::kMemory || ModelKindOf(activity) != kNoModelKind ||
          TypeOf(activity) != type) {
        continue;
      }
      absl::StrAppendFormat(&text, "%d      %s\n", i + 1, std::string(Name(activity)));
    }
  }
  absl::StrAppendFormat(&text, "\n\nEVENT_TYPE\n0    %d    Memory in use (bytes)\n\n", kMemory);
  absl::StrAppendFormat(&text, "\n\nEVENT_TYPE\n0    %d    Power (milliwatts)\n\n", kPower);
  return text;
}

std::string ParaverWriter::Rows() const {
  std::string cpus, nodes, threads;
  int count = 0;
  for (size_t task = 1; task <= tasks_.size(); ++task) {
    StrAppend(&nodes, "rank ", task - 1, "\n");
    for (int32_t thread = 1; thread <= tasks_[task - 1].threads; ++thread, ++count) {
      StrAppend(&cpus, "CPU ", task, ".", thread, "\n");
      StrAppend(&threads, "THREAD 1.", task, ".", thread, "\n");
    }
  }
  return StrCat("LEVEL CPU SIZE ", count, "\n", cpus, "\nLEVEL NODE SIZE ", tasks_.size(), "\n",
                nodes, "\nLEVEL THREAD SIZE ", count, "\n", threads);
}

absl::Status ParaverWriter::Finish(std::time_t date) {
  AddCommunications();
  std::ranges::stable_sort(records_, {}, &Record::time);
  DTNN_ASSIGN_OR_RETURN(AtomicFile legend, AtomicFile::Create(LegendOf(path_)));
  DTNN_ASSIGN_OR_RETURN(AtomicFile rows, AtomicFile::Create(RowsOf(path_)));
  DTNN_ASSIGN_OR_RETURN(AtomicFile records, AtomicFile::Create(path_));
  DTNN_RETURN_IF_ERROR(legend.Append(Legend()));
  DTNN_RETURN_IF_ERROR(rows.Append(Rows()));
  constexpr size_t kPiece = size_t{1} << 20;
  std::string text = Header(date);
  for (const Record& record : records_) {
    text += Line(record);
    if (text.size() < kPiece) continue;
    DTNN_RETURN_IF_ERROR(records.Append(text));
    text.clear();
  }
  DTNN_RETURN_IF_ERROR(records.Append(text));
  DTNN_RETURN_IF_ERROR(legend.Commit());
  DTNN_RETURN_IF_ERROR(rows.Commit());
  return records.Commit();
}

}  // namespace dtnn
