// What a run writes: its checkpoints, its model, and what it says of itself.

#ifndef DTNN_MODELS_RUN_OPTIONS_OUTPUT_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_OUTPUT_OPTIONS_H_

#include <cstdint>
#include <string>

namespace dtnn {

struct CheckpointOptions {
  std::string folder = {};  // where the state of the run is saved; empty: nowhere
  int64_t every_epochs = 1;
  int64_t every_steps = 0;       // batches; 0: at ends of epochs only
  std::string resume = "False";  // True or if-there: continue from the newest checkpoint

  friend bool operator==(const CheckpointOptions&, const CheckpointOptions&) = default;
};

// A power meter that speaks pmlib's protocol.
struct PowerMeterOptions {
  std::string server = "127.0.0.1";
  int64_t port = 6526;
  std::string device = {};  // whose power the server reports; empty: counters of the machine

  friend bool operator==(const PowerMeterOptions&, const PowerMeterOptions&) = default;
};

struct OutputOptions {
  std::string model = {};        // file for the model after training; empty: none
  std::string history = {};      // file of metrics per epoch; empty: none
  std::string report = {};       // page of the run; empty: none
  std::string tensorboard = {};  // folder of event files; empty: none
  bool tracing = false;
  std::string trace = {};         // file of the trace, which says its format; empty: no trace
  std::string profile = "False";  // True: printed; a file: written there
  bool energy = false;            // is measured, where the machine has counters
  PowerMeterOptions pmlib = {};
  bool quiet = false;
  std::string verbose = "False";  // or True or dispatch

  friend bool operator==(const OutputOptions&, const OutputOptions&) = default;
};

// What the machine and the network can do, for the predictions of a profile.
struct PredictionOptions {
  double cpu_speed = 0;             // operations per second; 0: as measured
  double memory_bandwidth = 0;      // bytes copied per second; 0: as measured
  double network_bandwidth = 1e9;   // bytes per second
  double network_latency = 0.5e-6;  // seconds
  std::string network_algorithm = "vdg";

  friend bool operator==(const PredictionOptions&, const PredictionOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OUTPUT_OPTIONS_H_
