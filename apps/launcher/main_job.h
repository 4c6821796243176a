// The main job: what the launcher does when it is given no flags, so that one command shows a
// network learning from real images.

#ifndef DTNN_APPS_LAUNCHER_MAIN_JOB_H_
#define DTNN_APPS_LAUNCHER_MAIN_JOB_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/options.h"

namespace dtnn {

// Its command line, to be parsed like any other.
std::vector<std::string> MainJobArguments();

// The lines that tell the user which defaults were taken and how to change them.
std::string MainJobNotice(std::string_view program);

// Whether the data that a run without --dataset-path reads is `installed` (anything else is for its
// reader to judge). NotFound names the package and the command that installs it.
bool PackagedDataIsInstalled();
absl::Status CheckPackagedData(const Options& options, bool installed);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_MAIN_JOB_H_
