#include "comm/ranks/elastic/messages.h"

#include "tensor/errors.h"

namespace dtnn {

absl::Status ErrorOf(uint32_t kind, const ElasticRange& range) {
  switch (kind) {
    case ElasticNotice::kTooFew:
      return FailedPrecondition("fewer than the ", range.min,
                                " ranks are left that the run needs at least (", range.ToString(),
                                ")");
    case ElasticNotice::kStateLost:
      return FailedPrecondition(
          "all ranks are gone that had the state of the run, so it cannot be continued");
    case ElasticNotice::kNoRoom:
      return FailedPrecondition("the run has the ", range.max,
                                " ranks that it may have at most, and too many processes wait for "
                                "a place already");
    default:
      return absl::InternalError(StrCat("the coordinator says ", kind));
  }
}

}  // namespace dtnn
