// Events as the three files of Paraver (tools.bsc.es/paraver): records in x.prv, what their numbers
// mean in x.pcf, names of rows in x.row.
//
// A rank is a task of one application, on a node of its own, and its threads are the task's. What a
// thread does is a state, with the numbers that Extrae gives them; innermost activities win, so
// states do not overlap. Passes of layers, exchanges, waits and updates are events of type 60000001
// with the original's values, layer * 5 + kind; further types tell of epochs, steps and the rest.
// The n-th exchange of all ranks is one sum, which none has before the last of them has begun: a
// communication leads from that one to the wait of each other rank. Times are nanoseconds.
//
// Records of all ranks are sorted by time, so they are in memory until Finish: 48 bytes each, about
// three per event.

#ifndef DTNN_MODELS_OBSERVE_TRACE_PARAVER_H_
#define DTNN_MODELS_OBSERVE_TRACE_PARAVER_H_

#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "models/observe/trace/layer_facts.h"
#include "models/observe/trace/rank_events.h"

namespace dtnn {

class ParaverWriter {
 public:
  // `path` ends in .prv. `origin`: a time of rank 0's clock before which there is no event.
  ParaverWriter(std::string_view path, int64_t origin, std::span<const LayerFacts> layers);

  // Once per rank, in the order of ranks.
  void Add(const RankEvents& rank);
  // Writes the files; all of them, or none where the disk is full. `date`: of the header.
  absl::Status Finish(std::time_t date);

  // The files beside a trace: the names of its events, and of its rows.
  static std::string LegendOf(std::string_view path);
  static std::string RowsOf(std::string_view path);

 private:
  struct Record {
    enum class Kind : uint8_t { kState = 1, kEvent = 2, kCommunication = 3 };
    int64_t time = 0;
    Kind kind = Kind::kState;
    int32_t task = 0, thread = 0;  // from 1
    int64_t a = 0, b = 0;          // end, state; type, value; index of the communication
  };
  struct Task {
    int32_t threads = 1;
    int first_cpu = 1;
  };
  struct Communication {
    int32_t from_task, from_thread, to_task, to_thread;
    int64_t send, receive, bytes, tag;
  };
  // One rank's part of a sum.
  struct Exchange {
    int64_t begin = 0, wait_end = 0, bytes = 0;
    int32_t thread = 1;
  };

  void AddStates(const std::vector<LoggedEvent>& events, int32_t task, int32_t threads);
  void AddState(int32_t task, int32_t thread, int64_t begin, int64_t end, int state);
  void AddEvents(const LoggedEvent& logged, int32_t task);
  void AddEvent(const LoggedEvent& logged, int32_t task, int64_t time, int64_t type, int64_t value);
  void AddPower(const LoggedEvent& logged, int32_t task);
  void AddPair(const LoggedEvent& logged, int32_t task, int64_t type, int64_t value);
  void AddCommunications();
  std::string Place(int32_t task, int32_t thread) const;
  std::string Header(std::time_t date) const;
  std::string Line(const Record& record) const;
  std::string Legend() const;
  std::string Rows() const;

  const std::string path_;
  const int64_t origin_;
  const std::vector<LayerFacts> layers_;
  std::vector<Task> tasks_;
  std::vector<Record> records_;
  std::vector<std::vector<Exchange>> exchanges_;  // per task
  std::vector<Communication> communications_;
  Event energy_;  // the last reading of the task
  int64_t end_ = 1;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_PARAVER_H_
