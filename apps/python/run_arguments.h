// What a run of Python is given beside options: functions for its messages, ranks, data; and what
// is said about options that these make useless.

#ifndef DTNN_APPS_PYTHON_RUN_ARGUMENTS_H_
#define DTNN_APPS_PYTHON_RUN_ARGUMENTS_H_

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "comm/communicator.h"

namespace dtnn::python {

// A function of Python, or None, that the last owner drops with the GIL.
std::shared_ptr<pybind11::object> Kept(pybind11::object function);

// Lines for a function of Python, from whichever thread; none once it has become None. What it
// raises is reported, not raised.
std::function<void(std::string_view)> Sink(std::shared_ptr<const pybind11::object> function);

// An error for ranks that come and go.
absl::Status CheckRanksStay(const dtnn::Options& options);
// `ranks` for a run on several of them; null for one that trains alone.
Communicator* RanksOf(const dtnn::Options& options, Communicator* ranks);
// Where a job's processes all train, and write the same files, without the others.
void WarnOfRanks(const dtnn::Options& options, const std::function<void(std::string_view)>& warn);
// A data set object replaces options, which then have no effect.
void WarnOfReading(dtnn::Options& options, const std::function<void(std::string_view)>& warn);
// Ranks that have met have no use for options that say how.
void WarnOfMeeting(dtnn::Options& options, const std::function<void(std::string_view)>& warn);

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_RUN_ARGUMENTS_H_
