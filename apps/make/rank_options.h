// The options as one rank of a run has them: its own paths; and what options mean for ranks.

#ifndef DTNN_APPS_MAKE_RANK_OPTIONS_H_
#define DTNN_APPS_MAKE_RANK_OPTIONS_H_

#include <cstdint>

#include "apps/flags/options.h"

namespace dtnn {

// Whether every rank saves its own state: it has files of its own, or a model of its own that only
// now and then is that of the others.
bool OwnCheckpoints(const Options& options);

// How many steps ranks do between two in which they wait for each other anyway; some number where
// they never do.
int64_t StepsBetweenMeetings(const Options& options);

// `$rank` in every path becomes the number. With --shared-storage=False each of several ranks
// writes files of its own, perhaps into the same folder: what is written to and does not hold
// `$rank` gets "-rank<number>" after its name, before an extension. So do checkpoints of its own.
Options OptionsOfRank(Options options, int rank, int ranks);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_RANK_OPTIONS_H_
