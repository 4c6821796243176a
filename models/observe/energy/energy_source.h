// Counters of the energy that a machine has used.
//
// Linux gives them in files: powercap's of Intel's RAPL (and AMD's, which has the same names), and
// hwmon's. They count the whole machine or its processors, with all that runs there. Virtual
// machines and most containers have none, and since 2020 only root may read RAPL's unless somebody
// allows more.

#ifndef DTNN_MODELS_OBSERVE_ENERGY_ENERGY_SOURCE_H_
#define DTNN_MODELS_OBSERVE_ENERGY_ENERGY_SOURCE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

class EnergySource {
 public:
  // Counters wrap around, and power is a value of a moment: no more than so many seconds may pass
  // between two readings. The smallest counter is full after 11 minutes at 400 W.
  static constexpr double kMostSecondsBetween = 60;

  virtual ~EnergySource() = default;
  // "package-0, dram".
  virtual std::string Describe() const = 0;
  // Since the source was opened; never falls.
  virtual absl::StatusOr<double> Joules() = 0;
};

// Zones of powercap below `folder`: packages with their memory. What a package contains is not
// added to it, nor is "psys", which contains packages. NotFound where there are none;
// PermissionDenied, with what an administrator can do, where they cannot be read.
absl::StatusOr<std::unique_ptr<EnergySource>> OpenPowercap(
    std::string_view folder = "/sys/class/powercap");

// Devices of hwmon below `folder`: energy of sockets (driver amd_energy), else power of the whole
// machine (ACPI's power_meter), which is added up over time. NotFound where there are none.
absl::StatusOr<std::unique_ptr<EnergySource>> OpenHwmon(
    std::string_view folder = "/sys/class/hwmon");

// The first of them that can be read. The error says what each lacks.
absl::StatusOr<std::unique_ptr<EnergySource>> FindEnergySource(
    std::string_view powercap = "/sys/class/powercap", std::string_view hwmon = "/sys/class/hwmon");

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_ENERGY_ENERGY_SOURCE_H_
