// The command that starts a rank on another host, by a shell there.
//
// Variables, the job's secret among them, are not part of it, since other users of a machine can
// read command lines: they come first on its standard input, a line NAME=VALUE each, then an empty
// line. After that the input carries names of signals, a line each, for the rank; where it ends, so
// does the rank: the launcher, or the connection, is gone.

#ifndef DTNN_APPS_LAUNCH_REMOTE_COMMAND_H_
#define DTNN_APPS_LAUNCH_REMOTE_COMMAND_H_

#include <span>
#include <string>

namespace dtnn {

// For any login shell of the other host, as one word. `folder`: where the program runs.
std::string RemoteCommand(const std::string& folder, std::span<const std::string> command);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_REMOTE_COMMAND_H_
