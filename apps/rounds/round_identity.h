// Whether a federation continues as it began: all options that decide what it computes
// (models/checkpoint/run_identity.h), compared where it resumes as those of a run are.

#ifndef DTNN_APPS_ROUNDS_ROUND_IDENTITY_H_
#define DTNN_APPS_ROUNDS_ROUND_IDENTITY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "models/checkpoint/run_identity.h"

namespace dtnn {

// FailedPrecondition for a change that may not be; each other one is a line of `warnings`, and so
// is a file, `path`, that an older version wrote without all of them.
absl::Status CompareIdentity(const std::string& path, const std::optional<RunIdentity>& was,
                             const RunIdentity& now, std::vector<std::string>& warnings);

// The members of an identity, each with a line for its name and one for its value: for the file of
// an encrypted sum, which is not a checkpoint. An aggregator's identity has no data.
std::string TextOf(const RunIdentity& identity);
RunIdentity IdentityOf(const std::string& text);

}  // namespace dtnn

#endif  // DTNN_APPS_ROUNDS_ROUND_IDENTITY_H_
