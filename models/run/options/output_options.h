// What a run writes: its checkpoints, its model, and what it says of itself.

#ifndef DTNN_MODELS_RUN_OPTIONS_OUTPUT_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_OUTPUT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "models/run/options/option_words.h"

namespace dtnn {

// Whether a run continues from the newest checkpoint.
enum class Resume : uint8_t { kNo, kYes, kIfThere };
constexpr auto WordsOf(Resume) {
  return std::to_array<OptionWord<Resume>>(
      {{Resume::kNo, "False"}, {Resume::kYes, "True"}, {Resume::kIfThere, "if-there"}});
}

struct CheckpointOptions {
  std::string folder = {};  // where the state of the run is saved; empty: nowhere
  int64_t every_epochs = 1;
  int64_t every_steps = 0;  // batches; 0: at ends of epochs only
  Resume resume = Resume::kNo;

  friend bool operator==(const CheckpointOptions&, const CheckpointOptions&) = default;
};

// A power meter that speaks pmlib's protocol.
struct PowerMeterOptions {
  std::string server = "127.0.0.1";
  int64_t port = 6526;
  std::string device = {};  // whose power the server reports; empty: counters of the machine

  friend bool operator==(const PowerMeterOptions&, const PowerMeterOptions&) = default;
};

// Where the time of training went: printed, or written to a file, whose name says its form.
struct ProfileOptions {
  bool print = false;
  std::string file = {};

  bool on() const { return print || !file.empty(); }
  friend bool operator==(const ProfileOptions&, const ProfileOptions&) = default;
};
// As one text: False, True or the file.
inline std::string AsOption(const ProfileOptions& profile) {
  return !profile.file.empty() ? profile.file : profile.print ? "True" : "False";
}
inline void FromOption(const std::string& text, ProfileOptions& profile) {
  const bool file = text != "True" && text != "False";
  profile = {.print = text == "True", .file = file ? text : ""};
}

// Whether a run also says what it has chosen, and why; kDispatch: for every layer.
enum class Verbosity : uint8_t { kNo, kYes, kDispatch };
constexpr auto WordsOf(Verbosity) {
  return std::to_array<OptionWord<Verbosity>>(
      {{Verbosity::kNo, "False"}, {Verbosity::kYes, "True"}, {Verbosity::kDispatch, "dispatch"}});
}

struct OutputOptions {
  std::string model = {};            // file for the model after training; empty: none
  std::string history = {};          // file of metrics per epoch; empty: none
  std::string report = {};           // page of the run; empty: none
  std::string tensorboard = {};      // folder of event files; empty: none
  std::string trace = {};            // file of the trace, which says its format; empty: no trace
  std::optional<bool> tracing = {};  // not set: as there is a file
  ProfileOptions profile = {};
  bool energy = false;  // is measured, where the machine has counters
  PowerMeterOptions pmlib = {};
  bool quiet = false;
  Verbosity verbose = Verbosity::kNo;

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
