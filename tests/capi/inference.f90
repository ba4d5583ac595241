! inference FOLDER: a model is loaded, called and trained for a step; an error has a text.
program inference
  use, intrinsic :: iso_c_binding
  use minnow
  implicit none
  character(4096) :: folder
  type(c_ptr) :: net, x, target, y(1), loss, optimizer, none, name
  real(c_float), target :: values(2, 3) = reshape([1., 1., 2., 0., 0., -1.], [2, 3]), output(2, 3), zeros(2, 3) = 0
  real(c_double) :: before, after
  integer(c_int64_t) :: sizes(2)
  integer(c_int) :: ndim, step

  call get_command_argument(1, folder)
  call check(minnow_module_load(trim(folder) // "/affine.onnx" // c_null_char, net))
  call check(minnow_tensor_new(c_loc(values), minnow_float32, 2, [3_c_int64_t, 2_c_int64_t], x))
  call check(minnow_module_forward(net, [x], 1, y, 1))
  call check(minnow_tensor_ndim(y(1), ndim))
  call check(minnow_tensor_shape(y(1), sizes, 2))
  if (ndim /= 2 .or. any(sizes /= [3, 2])) error stop "the shape is another"
  call check(minnow_tensor_copy_out(y(1), c_loc(output), 24_c_size_t))
  if (any(abs(output - reshape([3.5, 6.5, 2.5, 5.5, -1.5, -4.5], [2, 3])) > 0)) error stop "the values are others"
  call check(minnow_tensor_device(y(1), name))
  if (minnow_text(name) /= "cpu") error stop "the device is another"
  call minnow_tensor_free(y(1))

  call check(minnow_tensor_new(c_loc(zeros), minnow_float32, 2, [3_c_int64_t, 2_c_int64_t], target))
  call check(minnow_optimizer_new(net, "sgd" // c_null_char, 0.01_c_double, 0.0_c_double, optimizer))
  do step = 1, 50
    call check(minnow_module_forward(net, [x], 1, y, 1))
    call check(minnow_loss("mse_loss" // c_null_char, y(1), target, loss))
    call check(minnow_tensor_item(loss, after))
    if (step == 1) before = after
    call check(minnow_optimizer_zero_grad(optimizer))
    call check(minnow_tensor_backward(loss))
    call check(minnow_optimizer_step(optimizer))
    call minnow_tensor_free(loss)
    call minnow_tensor_free(y(1))
  end do
  if (after > 0.5 * before) error stop "the loss is not lower"

  if (minnow_module_load("gone.onnx" // c_null_char, none) /= minnow_io_error) error stop "a file that is not there"
  if (index(minnow_last_error(), "gone.onnx") == 0) error stop "the error does not name the file"

  call minnow_optimizer_free(optimizer)
  call minnow_tensor_free(target)
  call minnow_tensor_free(x)
  call minnow_module_free(net)
  if (minnow_live_handles() /= 0) error stop "a handle is not freed"

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == minnow_ok) return
    print '(a)', minnow_last_error()
    error stop 1
  end subroutine check

end program inference
