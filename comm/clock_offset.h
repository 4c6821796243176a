// What to add to a rank's clock to get rank 0's, measured by messages.
//
// A rank asks rank 0 for its time again and again, and believes the answer that came back fastest:
// it was given in the middle between question and answer, give or take half the time between them.
// Clocks of several hosts also drift, by about a millisecond per minute: measured at the begin and
// at the end of a run, the offset of every time between is interpolated. Ranks on rank 0's host
// share its clock, and exchange nothing. Costs 50 round trips per rank on another host.

#ifndef DTNN_COMM_CLOCK_OFFSET_H_
#define DTNN_COMM_CLOCK_OFFSET_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "comm/communicator.h"

namespace dtnn {

class ClockOffset {
 public:
  // A measurement, of clocks in nanoseconds. All ranks call it together, at most twice: the second
  // time after what is to be converted. `same_host` = false: exchanges messages although both are
  // on one host, for clocks that processes do not share.
  absl::Status Measure(Communicator& communicator, absl::FunctionRef<int64_t()> clock,
                       bool same_host = true);

  // The time of rank 0's clock when this rank's shows `time`. Without a measurement: the same.
  int64_t ToRankZero(int64_t time) const;

  // Half the round trip of the worst measurement.
  int64_t uncertainty() const { return uncertainty_; }

 private:
  struct Sample {
    int64_t time = 0;    // of this rank
    int64_t offset = 0;  // what to add then
  };
  std::vector<Sample> samples_;
  int64_t uncertainty_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_CLOCK_OFFSET_H_
