// How many files this process may have open: its soft limit, which it can raise up to the hard one.

#ifndef DTNN_COMM_DESCRIPTORS_OPEN_FILES_H_
#define DTNN_COMM_DESCRIPTORS_OPEN_FILES_H_

#include <cstdint>

namespace dtnn {

// The largest number where there is no limit.
int64_t OpenFilesAllowed();
// The same, after the limit was raised to `needed` where it was lower, as far as the system lets
// it.
int64_t AllowOpenFiles(int64_t needed);
// Lowers it to what OpenFilesAllowed has said. For a new process: a function that is safe there.
void LimitOpenFiles(int64_t files);

}  // namespace dtnn

#endif  // DTNN_COMM_DESCRIPTORS_OPEN_FILES_H_
