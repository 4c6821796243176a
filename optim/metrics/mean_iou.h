// Mean intersection over union (Jaccard index): TP / (TP + FP + FN), averaged over the labels that
// occur; see label_counts.h. The usual measure of networks that classify pixels: counts are of all
// pixels of a data set, not a mean over images.

#ifndef DTNN_OPTIM_METRICS_MEAN_IOU_H_
#define DTNN_OPTIM_METRICS_MEAN_IOU_H_

#include "optim/metrics/label_counts.h"

namespace dtnn {

class MeanIou : public LabelMetric {
 public:
  MeanIou() : LabelMetric("mean_iou", "miou", &LabelCounts::IntersectionOverUnion) {}
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_MEAN_IOU_H_
