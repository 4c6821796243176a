#include "apps/rounds/round_identity.h"

#include "absl/strings/str_split.h"
#include "tensor/errors.h"
#include "tensor/text/one_line.h"

namespace dtnn {

absl::Status CompareIdentity(const std::string& path, const std::optional<RunIdentity>& was,
                             const RunIdentity& now, std::vector<std::string>& warnings) {
  if (!was || !KnowsAll(*was, now)) {
    warnings.push_back(StrCat(path, ": was written by an older version, which did not save all ",
                              "options; those are not compared"));
  }
  if (!was) return absl::OkStatus();
  for (const IdentityChange& change : Compare(*was, now)) {
    const Difference& d = change.difference;
    const std::string text = StrCat("the ", d.what, " was ", d.was, " and is now ", d.now);
    if (change.may_change == MayChange::kNever) {
      return FailedPrecondition(path, ": the federation cannot be continued: ", text,
                                "; begin a new one in another folder");
    }
    warnings.push_back(StrCat("resumed federation: ", text));
  }
  return absl::OkStatus();
}

std::string TextOf(const RunIdentity& identity) {
  std::string text;
  for (const IdentityMember& member : identity.members) {
    StrAppend(&text, OneLine(member.file_key()), "\n", OneLine(member.value), "\n");
  }
  return text;
}

RunIdentity IdentityOf(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  RunIdentity identity;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    identity.members.push_back({.what = lines[i], .value = lines[i + 1]});
  }
  return identity;
}

}  // namespace dtnn
