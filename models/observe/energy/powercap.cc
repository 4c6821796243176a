#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "models/observe/energy/counter_file.h"
#include "models/observe/energy/energy_source.h"
#include "tensor/errors.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

// A zone's counter, which begins again at 0 after its largest value.
struct Zone {
  std::string name, path;
  int64_t range = 0;  // microjoules
  int64_t last = 0;
  double joules = 0;

  absl::Status Read() {
    DTNN_ASSIGN_OR_RETURN(const int64_t now, ReadCount(path));
    joules += 1e-6 * double(now >= last ? now - last : now - last + range);
    last = now;
    return absl::OkStatus();
  }
};

class Powercap : public EnergySource {
 public:
  explicit Powercap(std::vector<Zone> zones) : zones_(std::move(zones)) {}

  std::string Describe() const override {
    return absl::StrJoin(zones_, ", ",
                         [](std::string* text, const Zone& zone) { text->append(zone.name); });
  }
  absl::StatusOr<double> Joules() override {
    double sum = 0;
    for (Zone& zone : zones_) {
      DTNN_RETURN_IF_ERROR(zone.Read());
      sum += zone.joules;
    }
    return sum;
  }

 private:
  std::vector<Zone> zones_;
};

// In "intel-rapl:0" or "intel-rapl:0:1"; 0 for other names.
int64_t ColonsIn(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return std::ranges::count(name, ':');
}

// Whether nothing else that is counted contains the zone.
bool Counts(const std::string& path, const std::string& name) {
  if (ColonsIn(path) == 1) return name.starts_with("package");
  return ColonsIn(path) == 2 && name == "dram";
}

}  // namespace

absl::StatusOr<std::unique_ptr<EnergySource>> OpenPowercap(std::string_view folder) {
  std::vector<Zone> zones;
  // The kernel shows zones below each other and, in the class's folder, all of them.
  for (const std::string& path : EntriesOf(std::string(folder), "intel-rapl:")) {
    const absl::StatusOr<std::string> name = ReadWord(path + "/name");
    if (!name.ok() || !Counts(path, *name)) continue;
    Zone zone = {.name = OneLine(*name, 40), .path = path + "/energy_uj"};
    const absl::StatusOr<int64_t> first = ReadCount(zone.path);
    if (absl::IsPermissionDenied(first.status())) {
      return absl::PermissionDeniedError(StrCat(
          zone.path,
          ": only root may read it; an administrator can allow a group to, by a udev rule: "
          "SUBSYSTEM==\"powercap\", RUN+=\"/bin/sh -c 'chgrp -R users /sys%p && chmod -R g=u "
          "/sys%p'\""));
    }
    DTNN_RETURN_IF_ERROR(first.status());
    zone.last = *first;
    DTNN_ASSIGN_OR_RETURN(zone.range, ReadCount(path + "/max_energy_range_uj"));
    zones.push_back(std::move(zone));
  }
  if (zones.empty()) {
    return NotFound(folder,
                    ": has no zones of RAPL (a virtual machine, a container, or a processor "
                    "without counters)");
  }
  return std::make_unique<Powercap>(std::move(zones));
}

}  // namespace dtnn
