// Where the time of training went, from a profile: by activity and by layer.

#ifndef DTNN_MODELS_OBSERVE_REPORT_TIME_SECTION_H_
#define DTNN_MODELS_OBSERVE_REPORT_TIME_SECTION_H_

#include <array>
#include <string>

#include "models/observe/trace/profile.h"
#include "models/observe/trace/profile_report.h"

namespace dtnn {

// Seconds by what a rank did.
struct ActivitySeconds {
  static constexpr std::array<const char*, 5> kNames = {
      "compute", "wait for data", "exchange with other ranks", "checkpoint", "between the steps"};
  std::array<double, 5> seconds = {};

  double total() const;
  ActivitySeconds operator-(const ActivitySeconds& before) const;
};
ActivitySeconds SumActivities(const Profile& profile);

// HTML: bars and tables. `last_epoch`: of it alone; all zero: not known.
std::string FormatTimes(const ActivitySeconds& all, const ActivitySeconds& last_epoch,
                        const ProfileReport& report);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_TIME_SECTION_H_
