#pragma once
// All of minnow::vision: image files, transforms of images, CIFAR.

#include <minnow/vision/annotated.h>
#include <minnow/vision/cifar.h>
#include <minnow/vision/image.h>
#include <minnow/vision/image_transform.h>
