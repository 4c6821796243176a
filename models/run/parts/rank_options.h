// The options as one rank of a run has them: its own paths; and what options mean for ranks.

#ifndef DTNN_MODELS_RUN_PARTS_RANK_OPTIONS_H_
#define DTNN_MODELS_RUN_PARTS_RANK_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "models/run/options/run_options.h"

namespace dtnn {

// Whether every rank saves its own state: it has files of its own, or a model of its own that only
// now and then is that of the others.
bool OwnCheckpoints(const RunOptions& options);

// How many steps ranks do between two in which they wait for each other anyway; some number where
// they never do.
int64_t StepsBetweenMeetings(const RunOptions& options);

// `$rank` in every path of PathsOf becomes the number. With ranks.shared_storage=False each of
// several ranks writes files of its own, perhaps into the same folder: what is written to and does
// not hold `$rank` gets "-rank<number>" after its name, before an extension. So do checkpoints of
// its own.
RunOptions OptionsOfRank(RunOptions options, int rank, int ranks);

// `$rank` and `${rank}` become the number; "$ranks" and everything else stays.
std::string ExpandRank(std::string_view path, int64_t rank);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_RANK_OPTIONS_H_
