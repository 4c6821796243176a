#include "comm/federation/aggregator/roster/open_files.h"

#include "comm/descriptors/open_files.h"
#include "tensor/errors.h"

namespace dtnn::federation {

absl::StatusOr<int64_t> ConnectionsThatFilesAllow(int64_t wanted, int64_t least, int64_t files) {
  const int64_t needed = files * wanted + kOtherFiles;
  const int64_t limit = AllowOpenFiles(needed);
  if (limit >= needed) return wanted;
  const int64_t allowed = (limit - kOtherFiles) / files;
  if (allowed >= least) return allowed;
  return ResourceExhausted("rounds of ", least, " clients need ", files * least + kOtherFiles,
                           " open files, and the system allows ", limit,
                           "; raise the hard limit (ulimit -Hn), or begin with fewer clients");
}

}  // namespace dtnn::federation
