// The energy of a trainer's epochs, with their validation and what happens between them.
//
// A callback: it reads the counters when an epoch begins and ends, and now and then in between.
// When they cannot be read any more, that is one warning; training goes on, and epochs have no
// energy.

#ifndef DTNN_MODELS_ENERGY_ENERGY_METER_H_
#define DTNN_MODELS_ENERGY_ENERGY_METER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "models/energy/energy_source.h"
#include "models/training/callback.h"
#include "tensor/stopwatch.h"

namespace dtnn {

class EnergyMeter : public Callback {
 public:
  using Clock = std::function<double()>;  // seconds, never backwards
  using Warn = std::function<void(std::string_view line)>;

  EnergyMeter(std::unique_ptr<EnergySource> source, Warn warn, Clock clock = {});

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  // Of the last epoch that has ended; nothing where it is not known.
  std::optional<double> epoch_joules() const { return epoch_joules_; }
  // "**** Energy: 812.5 J in 3 epochs (package-0, dram), 0.0056 J per training sample": a line, or
  // nothing where no epoch's energy is known.
  std::string Report() const;

 private:
  std::optional<double> Read();

  std::unique_ptr<EnergySource> source_;  // null: it has failed
  const Warn warn_;
  const Clock clock_;
  double read_ = 0;              // when
  std::optional<double> begin_;  // of the epoch, in joules
  std::optional<double> epoch_joules_;
  int64_t done_before_ = 0, epochs_ = 0, samples_ = 0;
  double joules_ = 0;  // of all epochs
};

}  // namespace dtnn

#endif  // DTNN_MODELS_ENERGY_ENERGY_METER_H_
