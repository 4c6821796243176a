// What a profile says: a table for people, and the same numbers as JSON and CSV.

#ifndef DTNN_MODELS_OBSERVE_TRACE_PROFILE_REPORT_H_
#define DTNN_MODELS_OBSERVE_TRACE_PROFILE_REPORT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/observe/trace/layer_facts.h"
#include "models/observe/trace/profile.h"
#include "models/observe/trace/roofline.h"

namespace dtnn {

// Whose step to predict.
struct PredictedMachine {
  MachineSpeed speed;
  double updates_per_step = 1;
  double exchange = 0;  // seconds of the all-reduces before an update; 0: there are none
};

struct ProfileReport {
  // Seconds are those of the whole training.
  struct Layer {
    std::string name = {}, type = {}, algorithms = {};
    double forward = 0, backward = 0;
    double update = 0;  // the optimizer's time, divided by numbers of parameters
    double share = 0;   // of the time of training
    // Of its forward and backward passes.
    double flops_per_second = 0, bytes_per_second = 0;
    // The least time that the machine could take, as a share of what they took; 0: not known.
    bool memory_bound = false;
    double reached = 0;
    double inference = 0;  // in validation and test
    // Bytes held, as LayerFacts has them.
    double arena = 0, parameters = 0, workspace = 0;
    std::optional<double> joules = {};  // of `seconds()`; nothing where power is not known
    double seconds() const { return forward + backward + update; }
  };
  struct Kind {
    std::string type = {};
    int64_t layers = 0;
    double seconds = 0, share = 0;
  };
  struct Row {
    std::string name = {};
    int64_t calls = 0;
    double seconds = 0, share = 0;
  };

  int64_t steps = 0, samples = 0;
  double seconds = 0;  // of training
  // What the predicted machine would need at best, 0: not known. Every pass of a layer computes or
  // moves its bytes, whichever takes longer (a roofline); updates read parameters and gradients and
  // write parameters; the exchange comes on top.
  double predicted = 0;
  double predicted_exchange = 0;  // of these
  double reading = 0;             // by threads of loaders, besides
  MachineSpeed machine, predicted_machine;
  std::vector<Layer> layers;    // that took time, in the order of the network
  std::vector<Kind> kinds;      // the costliest first
  std::vector<Row> activities;  // likewise; their sum is `seconds`
};

// `machine`: the one that ran, as measured. `watts`: of all machines that ran; a layer uses them
// for as long as it takes, since no counter can tell one layer from the next.
ProfileReport MakeReport(const Profile& profile, std::span<const LayerFacts> layers,
                         const MachineSpeed& machine, const PredictedMachine& predicted = {},
                         std::optional<double> watts = {});

// Three tables: layers, kinds of layers, activities. Times are milliseconds per step.
std::string FormatReport(const ProfileReport& report);
// One object; seconds of the whole training.
std::string ReportJson(const ProfileReport& report);
// A line per layer after one of names.
std::string ReportCsv(const ProfileReport& report);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_PROFILE_REPORT_H_
