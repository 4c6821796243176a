// The fastest algorithm of every convolution of a run, before its plans are made: with
// --enable-best-of on CPUs, with --enable-cudnn-auto-conv-alg where a GPU's library has several.

#ifndef DTNN_APPS_LAUNCHER_TUNE_RUN_H_
#define DTNN_APPS_LAUNCHER_TUNE_RUN_H_

#include "absl/status/status.h"
#include "apps/launcher/prepared_run.h"
#include "apps/launcher/run_voice.h"

namespace dtnn {

// Whether this run is to be tuned.
bool TunesRun(const PreparedRun& run);

// Sets best_of, the context's tuner, and best_of_table for CPUs: from --best-of-file, which rank 0
// reads and writes, and by timing. All ranks call it together, time at the same time, as they will
// compute, and have rank 0's decisions after it.
absl::Status TuneRun(PreparedRun& run, RunVoice& voice);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_TUNE_RUN_H_
