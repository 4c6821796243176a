// The energy of a trainer's epochs, with their validation and what happens between them, on all
// machines that train.
//
// A callback: it reads the counters when an epoch begins and ends, and now and then in between. At
// the end of an epoch ranks tell each other what they have read; all of them call the meter
// together, and have the same sums. When counters cannot be read any more, that is one warning;
// training continues, with the energy of the other machines, or with none.

#ifndef DTNN_MODELS_OBSERVE_ENERGY_ENERGY_METER_H_
#define DTNN_MODELS_OBSERVE_ENERGY_ENERGY_METER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "models/observe/energy/energy_source.h"
#include "models/training/callback.h"
#include "tensor/stopwatch.h"

namespace dtnn {

// Counters are those of a machine: the first rank on each reads them.
absl::StatusOr<bool> FirstOnItsHost(Communicator& communicator);

struct EnergyMeterOptions {
  // Null: this rank reads nothing.
  std::unique_ptr<EnergySource> source = {};
  // Whether it should: where it reads nothing all the same, sums lack its machine.
  bool expected = true;
  Communicator* communicator = nullptr;                  // null: there is one rank
  std::function<void(std::string_view line)> warn = {};  // called on rank 0
  std::function<double()> clock = {};  // seconds, never backwards; none: a stopwatch
};

class EnergyMeter : public Callback {
 public:
  explicit EnergyMeter(EnergyMeterOptions options);

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  // Joules of the last epoch that has ended; nothing where they are not known.
  std::optional<double> epoch_joules() const { return epoch_joules_; }
  // Mean power of the epochs whose energy is known; nothing where there are none.
  std::optional<double> watts() const;
  // "**** Energy: 812.5 J in 3 epochs (package-0, dram), 0.0056 J per training sample": a line, or
  // nothing where no epoch's energy is known.
  std::string Report() const;

 private:
  std::optional<double> Read();
  absl::StatusOr<std::optional<double>> SumOverRanks(std::optional<double> mine);

  EnergyMeterOptions options_;   // without a source: it has failed
  double read_ = 0, pause_ = 0;  // when, and how long until it is to be read again
  double epoch_began_ = 0;       // when
  std::optional<double> begin_;  // of the epoch, in joules
  std::optional<double> epoch_joules_;
  int64_t machines_ = 1;      // that were read in the last epoch
  std::vector<int> missing_;  // ranks that a warning has named
  int64_t done_before_ = 0, epochs_ = 0, samples_ = 0;
  double joules_ = 0, seconds_ = 0;  // of these epochs
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_ENERGY_ENERGY_METER_H_
