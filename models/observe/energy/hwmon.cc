#include <algorithm>
#include <string>
#include <vector>

#include "models/observe/energy/counter_file.h"
#include "models/observe/energy/energy_source.h"
#include "tensor/errors.h"
#include "tensor/stopwatch.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

// Counters in microjoules.
class Sockets : public EnergySource {
 public:
  static absl::StatusOr<std::unique_ptr<EnergySource>> Open(const std::vector<std::string>& paths) {
    auto source = std::make_unique<Sockets>();
    for (const std::string& path : paths) {
      DTNN_ASSIGN_OR_RETURN(const int64_t first, ReadCount(path));
      source->counters_.push_back({path, first});
    }
    return source;
  }

  std::string Describe() const override { return Counted(int64_t(counters_.size()), "socket"); }
  absl::StatusOr<double> Joules() override {
    for (Counter& counter : counters_) {
      DTNN_ASSIGN_OR_RETURN(const int64_t now, ReadCount(counter.path));
      // The driver counts in 64 bits: a smaller value has begun anew.
      joules_ += 1e-6 * double(std::max(now - counter.last, int64_t{0}));
      counter.last = now;
    }
    return joules_;
  }

 private:
  struct Counter {
    std::string path;
    int64_t last = 0;
  };
  std::vector<Counter> counters_;
  double joules_ = 0;
};

// A power in microwatts, taken for the mean of what it was since the reading before.
class PowerMeter : public EnergySource {
 public:
  explicit PowerMeter(std::string path) : path_(std::move(path)) {}

  std::string Describe() const override { return "the machine's power meter"; }
  absl::StatusOr<double> Joules() override {
    DTNN_ASSIGN_OR_RETURN(const int64_t microwatts, ReadCount(path_));
    const double now = watch_.seconds();
    joules_ += 1e-6 * double(microwatts) * (now - last_);
    last_ = now;
    return joules_;
  }

 private:
  const std::string path_;
  const Stopwatch watch_;
  double last_ = 0, joules_ = 0;
};

// The inputs of a device whose labels say that they are of a socket.
std::vector<std::string> SocketsOf(const std::string& device) {
  std::vector<std::string> inputs;
  for (const std::string& path : EntriesOf(device, "energy")) {
    if (!path.ends_with("_label")) continue;
    const absl::StatusOr<std::string> label = ReadWord(path);
    if (!label.ok() || !label->starts_with("Esocket")) continue;
    inputs.push_back(path.substr(0, path.size() - 6) + "_input");
  }
  return inputs;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EnergySource>> OpenHwmon(std::string_view folder) {
  std::string meter;
  for (const std::string& device : EntriesOf(std::string(folder), "hwmon")) {
    const absl::StatusOr<std::string> name = ReadWord(device + "/name");
    if (!name.ok()) continue;
    if (const std::vector<std::string> sockets = SocketsOf(device); !sockets.empty()) {
      return Sockets::Open(sockets);
    }
    if (*name == "power_meter" && meter.empty()) meter = device + "/power1_average";
  }
  if (meter.empty()) return NotFound(folder, ": has no counters of energy and no power meter");
  DTNN_RETURN_IF_ERROR(ReadCount(meter).status());
  return std::make_unique<PowerMeter>(std::move(meter));
}

absl::StatusOr<std::unique_ptr<EnergySource>> FindEnergySource(std::string_view powercap,
                                                               std::string_view hwmon) {
  auto first = OpenPowercap(powercap);
  if (first.ok()) return first;
  auto second = OpenHwmon(hwmon);
  if (second.ok()) return second;
  return absl::Status(first.status().code(),
                      StrCat("this machine tells no energy: ", first.status().message(), "; ",
                             second.status().message()));
}

}  // namespace dtnn
